"""The OpenAPI 3.1 document, generated from routes, argument models, records and the catalogue.

An answer whose shape the interface leaves open is an object without fields here.
"""

from __future__ import annotations

from mcp_server.calls.errors import CATALOGUE
from mcp_server.operations.schemas import Schema, input_schema, record_schemas
from mcp_server.operations.table import OPERATIONS, Operation
from mcp_server.presentation.identity import TITLE
from mcp_server.presentation.offer import Offer
from mcp_server.presentation.rules import CONTENT_RULES
from oauth.metadata import SCOPE
from rest_facade.routes import ROUTES, RestRoute
from store.wire.records import Envelope, Record

SECURITY: list[Schema] = [{"api_key": []}, {"oauth2": [SCOPE]}]
REFERENCE = "#/components/schemas/"

QUOTA_HEADERS = {
    name: {"$ref": f"#/components/headers/{name}"} for name in ("RateLimit", "RateLimit-Policy")
}
RETRY_AFTER = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
UNCHANGED = {"304": {"description": "The ETag in If-None-Match still matches."}}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of GET; a list that has changed since is not overwritten.",
    "schema": {"type": "string"},
}
TEXTS = ("text/plain", "text/csv")
"""Media types of a body that is no JSON."""
CLIENT_NAME = {
    "name": "X-Service-Client",
    "in": "header",
    "description": "A client name for the account's usage log.",
    "schema": {"type": "string"},
}

DOCUMENTS = {
    "/": ("index", "Map of links, install commands and limits.", "application/json"),
    "/llms.txt": ("llms_txt", "The agent reference.", "text/markdown"),
    "/skill.md": ("skill_md", "The agent reference as a skill file.", "text/markdown"),
    "/openapi.json": ("openapi_json", "This document.", "application/json"),
}
"""The documents by path: operation id, summary, media type."""


def openapi(offer: Offer) -> Schema:
    """The document for a service at its public address."""
    paths = {path: {"get": _document(path, *text)} for path, text in DOCUMENTS.items()}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": "v1",
            "summary": "Breakout chart patterns from a nightly market scan.",
            "description": _description(),
            "termsOfService": offer.terms_url,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": offer.base_url}],
        "externalDocs": {"url": offer.docs_url},
        "paths": paths,
        "components": {
            "schemas": _components(),
            "responses": _error_responses(),
            "headers": _headers(),
            "securitySchemes": _security_schemes(offer),
        },
    }


def _description() -> str:
    rules = "\n".join(f"{n}. {rule}" for n, rule in enumerate(CONTENT_RULES, 1))
    return (
        "Data changes once a night, and every JSON response has its session in `as_of_session`. "
        "If a query parameter is repeated, its last value counts; unknown ones are ignored."
        f"\n\nRules for clients that show the data to people:\n\n{rules}"
    )


def _components() -> Schema:
    served = (OPERATIONS[route.operation] for route in ROUTES)
    models = tuple(dict.fromkeys(model for operation in served for model in operation.answers))
    roots, shared = record_schemas((Envelope, *models), REFERENCE)
    names = [Envelope.__name__, *(model.__name__ for model in models)]
    return {**shared, **dict(zip(names, roots, strict=True)), "Error": _error_schema()}


def _error_schema() -> Schema:
    return {
        "type": "object",
        "description": "The body of every error response. Branch on `error`, never on `message`.",
        "properties": {
            "error": {"type": "string", "enum": list(CATALOGUE)},
            "message": {"type": "string", "description": "Human text; may change."},
            "fix": {"type": "string", "description": "What to do next."},
            "docs_url": {"type": "string", "format": "uri"},
            "details": {
                "type": "object",
                "description": "Present only with details to give: rejected, unknown, cap, "
                "retry_after_seconds, demo_symbols or allowed.",
            },
        },
        "required": ["error", "message", "fix", "docs_url"],
    }


def _error_responses() -> Schema:
    return {
        str(status): {
            "description": " ".join(
                f"`{entry.code}`: {entry.condition}"
                for entry in CATALOGUE.values()
                if entry.status == status
            ),
            "headers": RETRY_AFTER if status == 429 else {},
            "content": {"application/json": {"schema": {"$ref": f"{REFERENCE}Error"}}},
        }
        for status in sorted({entry.status for entry in CATALOGUE.values()})
    }


def _headers() -> Schema:
    return {
        "RateLimit": {
            "description": "What is left of each quota: r calls, t seconds until it recovers.",
            "schema": {"type": "string"},
        },
        "RateLimit-Policy": {
            "description": "Each quota: q calls in w seconds.",
            "schema": {"type": "string"},
        },
        "Retry-After": {
            "description": "Seconds to wait, as in details.retry_after_seconds.",
            "schema": {"type": "integer", "minimum": 1},
        },
    }


def _security_schemes(offer: Offer) -> Schema:
    return {
        "api_key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, sent as `Authorization: Bearer <API_KEY>`.",
        },
        "oauth2": {
            "type": "oauth2",
            "description": "Sign-in for agent hosts; authorization code with PKCE (S256).",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": f"{offer.public_url}/oauth/authorize",
                    "tokenUrl": f"{offer.public_url}/oauth/token",
                    "refreshUrl": f"{offer.public_url}/oauth/token",
                    "scopes": {SCOPE: "Everything the account's key can do."},
                }
            },
        },
    }


def _document(path: str, name: str, summary: str, media_type: str) -> Schema:
    schema: Schema = {"type": "object"} if media_type == "application/json" else {"type": "string"}
    if path == "/":
        schema = {"allOf": [_reference_to(Envelope)]}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["documents"],
        "security": [{}, *SECURITY],
        "responses": {
            "200": _success(summary, media_type, schema),
            **UNCHANGED,
            **_refusals({401, 429, 500, 503}),
        },
    }


def _operation(route: RestRoute) -> Schema:
    operation = OPERATIONS[route.operation]
    result: Schema = {
        "operationId": _operation_id(route),
        "summary": operation.summary,
        "tags": [route.path.split("/")[1]],
        "security": SECURITY if operation.access == "keyed" else [{}, *SECURITY],
        "parameters": _parameters(route, operation),
        "responses": _responses(route, operation),
    }
    if route.method != "GET":
        content: Schema = {"application/json": {"schema": input_schema(operation)}}
        if route.text:
            content |= {kind: {"schema": {"type": "string"}} for kind in TEXTS}
        result["requestBody"] = {"required": True, "content": content}
    return result


def _operation_id(route: RestRoute) -> str:
    shared = [r for r in ROUTES if r.operation == route.operation]
    if len(shared) == 1:
        return route.operation
    return f"{route.operation}_{'by_' if '{' in route.path else ''}family"


def _parameters(route: RestRoute, operation: Operation) -> list[Schema]:
    arguments = input_schema(operation)
    in_path = [name for name in arguments["properties"] if f"{{{name}}}" in route.path]
    parameters: list[Schema] = []
    for name in (*in_path, *route.query):
        schema = dict(arguments["properties"][name])
        description = schema.pop("description")
        parameter = {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path or name in arguments.get("required", ()),
            "schema": schema,
            "description": description,
        }
        parameters.append(parameter)
    if operation.changes:
        parameters.append(IF_MATCH)
    if operation.access == "keyed":
        parameters.append(CLIENT_NAME)
    return parameters


def _responses(route: RestRoute, operation: Operation) -> Schema:
    statuses = {CATALOGUE[code].status for code in operation.codes} | {500, 503}
    if operation.produces == "image/png":
        picture = {"type": "string", "contentMediaType": "image/png"}
        success = _success("A PNG; cacheable for one hour.", "image/png", picture)
    else:
        models: list[type[Record]] = [Envelope, *_answers(route, operation)]
        body = {"allOf": [_reference_to(model) for model in models]}
        success = _success(operation.summary, "application/json", body)
    if route.method != "GET":
        return {"200": success, **_refusals(statuses | {400, 413})}
    return {"200": success, **UNCHANGED, **_refusals(statuses)}


def _answers(route: RestRoute, operation: Operation) -> list[type[Record]]:
    if len(operation.answers) < 2:
        return list(operation.answers)
    # An operation with two records has two routes: an entry by name, and the whole list.
    by_name, of_all = operation.answers
    return [by_name if "{" in route.path else of_all]


def _success(description: str, media_type: str, schema: Schema) -> Schema:
    return {
        "description": description,
        "headers": QUOTA_HEADERS,
        "content": {media_type: {"schema": schema}},
    }


def _refusals(statuses: set[int]) -> Schema:
    return {str(code): {"$ref": f"#/components/responses/{code}"} for code in sorted(statuses)}


def _reference_to(model: type[Record]) -> Schema:
    return {"$ref": REFERENCE + model.__name__}
