"""Redirect addresses: which may be registered, and which of a request is a registered one."""

from __future__ import annotations

import pytest

from oauth.redirects import destination, is_acceptable, is_registered

HTTPS = "https://app.example.com/cb"

GOOD_REDIRECTS = (
    *("http://127.0.0.1/callback", "http://127.0.0.1:33418"),
    *("http://127.0.0.1:33418/callback?tenant=a%20b", "http://[::1]/callback"),
    *("http://[::1]:8080/callback", "http://localhost/", "http://localhost:6274/oauth/callback"),
    *("https://claude.ai/api/mcp/auth_callback", "https://app.example.com:8443/cb?x=1&y=%C3%A9"),
    "cursor://anysphere.cursor-retrieval/oauth/user-x/callback",
    *("vscode://vscode.github-authentication/did-authenticate", "com.example.app:/oauth2redirect"),
    "vscode-insiders://vscode.github-authentication/did-authenticate",
    *("windsurf://codeium.windsurf/callback", "claude://oauth/callback", "searchlight:/callback"),
)

BAD_REDIRECTS = (
    *("javascript:alert(1)", "javascript://x/%0aalert(1)", "JavaScript:/alert(1)"),
    *("data:text/html,x", "data://text/html,x", "vbscript:msgbox(1)", "file:///etc/passwd"),
    *("about:blank", "blob:https://example.com/x", "view-source:/x", "about-source:/x"),
    *("ms-officecmd:/x", "ms-word:/ofe", "ms-settings:/x", "search:/query=x", "search-ms:/query=x"),
    *("shell:/x", "steam://run/1", "itms-services://x", "x-apple.systempreferences:/x"),
    *("x-safari-https://evil.example/", "firefoxurl://x", "microsoft-edge:/x", "googlechrome://x"),
    *("vnc://evil.example", "anydesk:/123456789", "rustdesk://connection/new/1"),
    *("teamviewer10:/control?device=1", "teamviewerapi://x", "rdp:/full", "ldaps://x", "nfs://x"),
    *("git://x", "mk:/x", "res://x", "ircs://x", "magnet:/?x", "android-app://x"),
    *("market://details", "facetime://x", "maps://x", "webcal://evil.example/x", "web+x://x"),
    *("intent://x", "jnlp://evil/x", "jnlps:/x", "vnd.sun.star.script:/x"),
    *("vnd.libreoffice.command:/x", "sourcetree:/x", "powershell:/x", "cmd:/x", "wscript:/x"),
    *("cscript:/x", "vbs:/x", "vbe:/x", "terminal:/x", "applescript:/x", "admin:/etc", "smb2:/x"),
    *("sshfs:/x", "dav:/x", "man:/x", "x-man-page:/x", "ghelp:/x", "help:/x", "settings:/x"),
    *("trash:/", "sip:/x", "skype:/x", "callto:/x", "mailto:/x", "com.microsoft.word:/x"),
    *("svn+ssh:/x", "app+x:/x", "ftp://example.com/x", "http://example.com/cb"),
    *("http://127.0.0.1.evil.example/cb", "http://localhost.evil.example/cb", "http://127.1/cb"),
    *("http://0.0.0.0/cb", "http://2130706433/cb", "http://LOCALHOST/cb"),
    *("http://[::ffff:127.0.0.1]/cb", "http://127.0.0.1@evil.example/cb", "http://localhost:0/cb"),
    *("http://localhost:65536/cb", "http://localhost:/cb", "https://[::::]/cb"),
    *("https://[1.2.3.4.5]/cb", "https://[::ffff:300.1.1.1]/cb", "https://user@example.com/cb"),
    *("https://user:pass@example.com/cb", "https://example.com/cb#fragment"),
    *("https://*.example.com/cb", "https://example.com/*", "https://example.com\\@evil.example/cb"),
    *("https://example.com/a b", "https://example.com/\tcb", "https://example.com/cb\n"),
    *("https://example.com/%0d%0aX: y", "https://exämple.com/cb", "https:///cb", "https://"),
    *("https:example.com", "https://example.com/%zz", "https://example.com/cb?code=mine"),
    *("https://example.com/cb?iss=mine", "//example.com/cb", "/cb", "cb", "localhost:3000/cb"),
    *("app:cb", "cursor://user@host/cb", "", " "),
    "https://example.com/" + "x" * 2000,
)


@pytest.mark.parametrize("uri", GOOD_REDIRECTS)
def test_a_sound_address_may_be_registered(uri: str) -> None:
    assert is_acceptable(uri)


@pytest.mark.parametrize("uri", BAD_REDIRECTS)
def test_an_unsound_address_may_not_be_registered(uri: str) -> None:
    assert not is_acceptable(uri)


@pytest.mark.parametrize(
    "uri",
    [
        *("https://app.example.com/cb/", "https://app.example.com/cb?"),
        *("https://app.example.com/cb?x=1", "https://app.example.com/cb#x"),
        *("https://app.example.com/cbx", "https://app.example.com/cb\n"),
        *("https://app.example.com/cb%20", "HTTPS://app.example.com/cb"),
        *("https://APP.example.com/cb", "https://app.example.com/CB"),
        *("https://app.example.com:443/cb", "https://app.example.com./cb"),
        *("https://sub.app.example.com/cb", "https://app.example.com.evil.example/cb"),
        *("https://app.example.com@evil.example/cb", "https://app.example.com\\@evil.example/cb"),
        *("https://app.example.com/x/../cb", "https://app.example.com/%63b"),
        *("http://app.example.com/cb", "http://127.0.0.1/cb", "javascript:alert(1)"),
        *("//app.example.com/cb", ""),
    ],
)
def test_an_address_that_is_not_the_registered_text_is_another(uri: str) -> None:
    assert is_registered(HTTPS, ["https://other.example.com/cb", HTTPS])
    assert not is_registered(uri, [HTTPS, "https://other.example.com/cb"])


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb"),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:50000/cb"),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1/cb"),
        ("http://localhost:1/cb?x=1", "http://localhost:50000/cb?x=1"),
        ("http://[::1]/cb", "http://[::1]:50000/cb"),
        ("http://127.0.0.1/", "http://127.0.0.1:33418"),
        ("http://127.0.0.1", "http://127.0.0.1:33418/"),
    ],
)
def test_on_loopback_any_port_will_do(registered: str, asked: str) -> None:
    assert is_registered(asked, [registered])


@pytest.mark.parametrize(
    "asked",
    [
        *("http://localhost/cb", "http://[::1]/cb", "http://127.1/cb", "http://0.0.0.0/cb"),
        *("http://127.0.0.1:99999/cb", "http://127.0.0.1:/cb"),
        *("http://127.0.0.1:1@evil.example/cb", "http://127.0.0.1:1/cb/", "http://127.0.0.1:1/CB"),
        *("http://127.0.0.1:1/cb?x", "https://127.0.0.1:1/cb"),
    ],
)
def test_on_loopback_nothing_but_the_port_may_differ(asked: str) -> None:
    assert is_registered("http://127.0.0.1:1/cb", ["http://127.0.0.1/cb"])
    assert not is_registered(asked, ["http://127.0.0.1/cb"])


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("http://[::1]:1/cb", "[::1] (this computer)"),
        ("https://app.example.com:8443/cb", "app.example.com:8443"),
        ("cursor://anysphere/cb", "cursor://anysphere"),
        ("cursor://anysphere?x=//y", "cursor://anysphere"),
        ("com.example.app:/cb", "com.example.app:/"),
    ],
)
def test_the_destination_is_named_for_people(uri: str, words: str) -> None:
    assert destination(uri) == words
