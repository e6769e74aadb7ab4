"""Redirect addresses: which ones a client may register, and which of those a request may name.

Accepted are loopback addresses, https and the schemes of native apps (RFC 8252 section 7), written
strictly in the characters of RFC 3986. Schemes that a browser would run or open itself are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

MAX_LENGTH = 2000

CHARACTERS = re.compile(r"(?:[A-Za-z0-9._~:/?\[\]@!$&'()+,;=-]|%(?![01]|7[Ff])[0-9A-Fa-f]{2})+")
"""RFC 3986 section 2 without the fragment, wildcards and encoded control characters."""

LOOPBACK = re.compile(r"http://(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?([/?].*)?")
"""RFC 8252 section 7.3; the groups are host, port and the rest."""

LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HTTPS = re.compile(
    rf"https://((?:{LABEL}\.)*{LABEL}|\[[0-9A-Fa-f:.]+\])(?::([0-9]{{1,5}}))?(?:[/?].*)?"
)

NATIVE = re.compile(r"([a-z][a-z0-9.-]*):/[^\[\]@]*")
"""An app's own scheme (RFC 8252 section 7.1), always followed by a slash. A plus sign is for
layered protocols (`svn+ssh`) and for web sites that handle a scheme (`web+x`)."""

OF_BROWSERS = """
    about about-source attachment blob cdl cid content data dns edge extension feed file filesystem
    ftp ftps gopher http https hxxp hxxps ie.http intent jar javascript livescript mailto mhtml mid
    mk mocha news nntp opera pics res resource snews ttp urn vbscript view-source wais ws wss
    wyciwyg
"""
OF_OTHER_MACHINES = """
    admin afc afp anydesk archive burn cifs computer dav davs dict dwagent ed2k finger fish git
    google-drive gotoassist gphoto2 imap irc irc6 irc7 ircs jdbc ldap ldapi ldaps ldapx logmein
    magnet mtp network nfs nomachine nx onedrive parsec pop rdp realvnc recent recentlyused
    remmina remote rlogin rsync rtmp rtmps rtsp rtsps rtspu rustdesk screenconnect sftp smb smb2
    spice splashtop ssh sshfs svn tar telnet tftp tn3270 trash ultraviewer unreal vnc webdav
    webdavs x2go zip
"""
OF_PROGRAMS = """
    bash bat cmd cscript jnlp jnlps jse kioexec msiexec osascript perl ps1 powershell pwsh python
    regedit rundll32 script sh sourcetree terminal vbe vbs wscript wsf wsh wt
"""
OF_SYSTEMS = """
    appstream appstore apt bingmaps bingnews bingweather calculator control desktop explorer
    filenamesearch fonts ghelp gnome-help hcp help info insiderhub launcher macappstore
    macappstores man market mms mmst mmsu ms nautilus nxm odopen onenote onenote-cmd outlookcal
    prefs prefs-root programs recoll ridl search settings shell shortcut shortcuts snap steam
    systempreferences timeline wallet yelp zune
"""
OF_CALLS = """
    bitcoin callto facetime facetime-audio facetime-group geo h323 im imessage maps messages
    msteams mumble net2phone pres sip sips skype sms smsto teamspeak tel telprompt tg webcal
    webcals whatsapp xmpp zoommtg zoomus
"""
NOT_NATIVE = frozenset(
    f"{OF_BROWSERS} {OF_OTHER_MACHINES} {OF_PROGRAMS} {OF_SYSTEMS} {OF_CALLS}".split()
)
"""Schemes that browsers, operating systems or well-known programs handle (IANA, "Uniform Resource
Identifier (URI) Schemes", and vendors' manuals); no app has one of them for itself."""

FAMILIES = (
    *("android-", "applescript", "chrome", "com.android.", "com.apple.", "com.microsoft."),
    *("firefox", "googlechrome", "itms", "itunes", "microsoft-", "microsoft.", "moz-", "ms-"),
    *("mswindows", "search-", "shell-", "teamviewer", "vnd.", "windows", "x-apple", "x-help"),
    *("x-man-page", "x-safari", "x-web-search", "xbox"),
)
"""How the names of further ones begin."""

RESPONSE_PARAMETERS = frozenset({"code", "error", "error_description", "iss", "state"})
"""The parameters that an authorization response adds; a registered query may have none of them."""


def is_acceptable(uri: object) -> bool:
    """Whether a client may register this redirect address."""
    if not isinstance(uri, str) or len(uri) > MAX_LENGTH or not CHARACTERS.fullmatch(uri):
        return False
    named = {name for name, _ in parse_qsl(uri.partition("?")[2], keep_blank_values=True)}
    if named & RESPONSE_PARAMETERS:
        return False
    web = LOOPBACK.fullmatch(uri) or HTTPS.fullmatch(uri)
    if web is not None:
        return _is_host(web[1]) and (web[2] is None or 0 < int(web[2]) < 65536)
    native = NATIVE.fullmatch(uri)
    return native is not None and not _is_taken(native[1])


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Whether a request's address is a registered one: the same text, on loopback with any port.

    One loopback host does not match another (RFC 8252 section 7.3, RFC 9700 section 2.1).
    """
    if not is_acceptable(uri):
        return False
    return any(uri == known or _same_loopback(uri, known) for known in registered)


def is_loopback(uri: str) -> bool:
    """Whether a redirect address is on the person's own computer, for a program that listens."""
    return LOOPBACK.fullmatch(uri) is not None


def destination(uri: str) -> str:
    """Where an authorization response will go, in words for people."""
    loopback = LOOPBACK.fullmatch(uri)
    if loopback is not None:
        return f"{loopback[1]} (this computer)"
    address = urlsplit(uri)
    if address.scheme == "https":
        return address.netloc
    return f"{address.scheme}:" + (f"//{address.netloc}" if "://" in uri else "/")


def with_response(uri: str, answer: Iterable[tuple[str, str]]) -> str:
    """The address with a response in its query; the registered part stays byte for byte."""
    joint = "&" if "?" in uri else "?"
    return uri + joint + urlencode(list(answer), quote_via=quote, safe="")


def _is_taken(scheme: str) -> bool:
    """Whether a scheme is not an app's own: browsers, systems or well-known programs handle it."""
    return scheme in NOT_NATIVE or scheme.startswith(FAMILIES)


def _is_host(host: str) -> bool:
    """Whether what stands in brackets is an IPv6 address; a name is checked by its expression."""
    if not host.startswith("["):
        return True
    try:
        IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def _same_loopback(uri: str, known: str) -> bool:
    asked, registered = LOOPBACK.fullmatch(uri), LOOPBACK.fullmatch(known)
    if asked is None or registered is None:
        return False
    # An empty path is the same as the root (RFC 3986 section 6.2.3), and VS Code sends either.
    return (asked[1], asked[3] or "/") == (registered[1], registered[3] or "/")
