"""Does this string look like a secret, or like a word, a reference, a placeholder?

Each question takes the candidate and the text before it inside the match (the name it is given to, its quote). The
answers lean towards hiding: a hidden placeholder costs a reader a moment, a stored secret may cost more. Yet prose
about passwords and code that only passes them on must come through unharmed.
"""

import math
import re
from collections import Counter
from functools import cached_property


class _Lazy:
    """A pattern that is compiled when first asked: these take ten milliseconds together, and most texts ask none."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._source = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(*self._source)

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)


_PLACEHOLDER = _Lazy(
    r"x{4,}|\*{3,}|\.{3}|…|•|redacted|\[private\]|^<.*>?$|^\[.*\]$|^\$|^%\w+%$|^%[(sd]|\$\{|\{\{|\$\("
    r"|<[a-z_ -]+>|^\{.*\}$"
    r"|^_{2,}|^(.)\1+$",
    re.IGNORECASE,
)
# Words that betray an example; only looked for where the value is not random enough to hold them by chance.
_EXAMPLE_WORD = _Lazy(
    r"your|change[_-]?(?:me|it|this)|changeit|place[_-]?holder|dummy|insert|replace|sample|^(?:test|fake|mock|my"
    r"|some|the|a|an|new|old|"
    r"default|invalid|wrong|bad|valid)?[_-]?(?:password|passwd|pass|pwd|secret|token|key|apikey|api[_-]key|value"
    r"|credentials?)"
    r"(?:[_-]?(?:here|value|123|1234|string|name|key))?$|[_-]here$|goes[_-]here|todo|foo_?bar|example|not[_-]a[_-]"
    r"|^abc123$|^abcd?e?f?$",
    re.IGNORECASE,
)
_NOTHING = frozenset(re.findall(r"\w+", """
    none null nil true false undefined empty string str text bytes number integer boolean object optional required any
    secret password token user username admin root value redacted hidden unset disabled enabled default auto prompt
    stdin env
"""))  # fmt: skip
_REFERENCE = _Lazy(
    r"^(?:process\.env|os\.(?:environ|getenv)|env[.(\[]|ENV\[|System\.|import\.meta|self\.|this\.|@|config[.\[(]"
    r"|settings\.|secrets?\.|vars?\."
    r"|var\.|local\.|data\.|module\.|get\w*\(|vault:|op://|ref\+|ssm:|arn:|data:|file:|https?://|!ref|!sub|!vault"
    r"|sm://|keyring:|\w+\(|--|-----begin)",
    re.IGNORECASE,
)
_PATH = _Lazy(
    r"^(?:[A-Za-z]:\\|~?/|\.{1,2}/)[\w@%+=:,.~ \\/-]*$|^[\w.-]+(?:/[\w.-]+)*\.(?:pem|key|crt|txt|json|ya?ml|env"
    r"|p12|pfx|jks|py|js|ts|md|html|php|go|rs|java|rb)$"
)
_NAMES_PATH = r"[a-z0-9]*[a-z]{3}[a-z0-9]*"
_UUID = _Lazy(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.IGNORECASE)
_DIGEST = _Lazy(r"^(?:sha\d+|md5|blake\w+)[:=-]", re.IGNORECASE)
_HASH = _Lazy(r"^\$(?:2[abxy]|argon2\w*|pbkdf2\S*|[156y]|scrypt)\$", re.IGNORECASE)
_IDENTIFIER = _Lazy(r"^[A-Za-z_][A-Za-z_.]*[0-9]{0,2}(?:[A-Za-z_.]+[0-9]?)?$")
_TECHNICAL = _Lazy(
    r"^(?:sha-?\d+|md[45]|hs\d+|rs\d+|es\d+|ps\d+|aes-?\d*(?:-\w+)*|rsa-?\d*|ed25519|x509|x25519|p256|secp\d+\w\d"
    r"|pbkdf2\w*|argon2\w*|bcrypt\d*|"
    r"base-?(?:16|32|58|62|64)(?:url)?|utf-?\d+(?:le|be)?|oauth-?\d(?:\.\d)?|oidc\d?|http/?\d?|ipv[46]|s3|ec2|k8s"
    r"|i18n|l10n|2fa|mfa\d?|"
    r"u2f|fido2|web3|auth0|totp\d?|hotp\d?|v\d[\w.-]{0,8}|\d+(?:st|nd|rd|th|s|ms|m|h|d|x|k|kb|mb|gb|px|%|-?bits?"
    r"|-?bytes?|-?chars?|"
    r"-?characters?|-?digits?|-?days?|-?hours?|-?min(?:ute)?s?|-?tokens?|-?words?)?|v?\d+(?:[.,]\d+)+[\w-]*"
    r"|[+-]?\d+(?:\.\d+)?)$",
    re.IGNORECASE,
)
_DATE = _Lazy(r"^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?$|^\d{1,2}[:/.]\d{1,2}(?:[:/.]\d{1,4})?$")
_ADDRESS = _Lazy(
    r"^(?:[\w+-]+(?:\.[\w+-]+)*@)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,6}(?:[:/]\S*)?$"
    r"|^\d+\.\d+\.\d+\.\d+(?:[:/]\S*)?$"
)
_NOT_SECRET_NAME = _Lazy(
    r"(?:^|[^A-Za-z])(?:public|publishable|hash|digest|checksum|fingerprint|csrf|xsrf|count|max|min|num|total"
    r"|limit|primary|foreign|cache|sort|"
    r"partition|idempotency|routing|group|object|index|row|hot|short|translation|message|label|error|type|class"
    r"|style|css|event|"
    r"next|page|continuation|pagination|cursor|stop|eos|bos|pad|unk|sep|mask|cls|special|field|input|prompt|forgot"
    r"|reset|show|confirm|"
    r"no|is|has|use|require|old|invalid|missing|bad)[_. -]?(?:[a-z]{0,12}[_. -])?(?:pass|pwd|secret|token|key|cred)",
    re.IGNORECASE,
)
_SPOKEN_WORDS = frozenset(re.findall(r"\w+", """
    wrong incorrect required empty missing invalid correct expired weak strong stored hashed encrypted saved visible
    hidden rotated reset changed updated unknown needed optional valid shared leaked exposed stale revoked generated
    readable blank null none unset test
"""))  # fmt: skip
_SIGNING_NAME = _Lazy(
    r"(?:jwt|session|cookie|app|flask|django|auth|signing|client|api)[_-]?secret|secret[_-]?key", re.I
)
_PATTERN = _Lazy(r"\[[A-Za-z0-9]-[A-Za-z0-9]|\(\?|\{\d+,\d*\}")  # a regular expression for a secret, not one
_PASS_WORD = _Lazy(r"(?:by|com|tres|sur|over|under|encom)pass\W*$")
_QUOTES = "\"'`“”‘’*"


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def varied(value: str, before: str = "") -> bool:
    """Not an `xxxx` or `your-key-here` in the shape of a token."""
    if len(set(value)) < 6 or _PLACEHOLDER.search(value):
        return False
    return not re.search(r"(?i)your[_-]|placeholder|[_-]here\b|change[_-]?me|dummy|insert[_-]|replace[_-]", value)


def random(value: str, before: str = "") -> bool:
    """Letters and digits mixed as chance mixes them, not as a name does."""
    return varied(value) and _mixed(value) and not _name_like(value) and not _UUID.match(value)


def key_body(value: str, before: str = "") -> bool:
    body = value.split("-----", 2)[-1]
    return any(len(run) >= 16 and len(set(run)) > 5 for run in re.findall(r"[A-Za-z0-9+/=]+", body.replace("\\n", " ")))


def base64_like(value: str, before: str = "") -> bool:
    """Forty characters of base64, yet not a hexadecimal digest or a path."""
    kinds = [re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]")]
    return all(kinds) and varied(value) and not re.fullmatch("[0-9a-fA-F]+", value)


def bearer(value: str, before: str = "") -> bool:
    if not varied(value) or _EXAMPLE_WORD.search(value) or _REFERENCE.match(value):
        return False
    if re.search(r"(?i)basic\s+[\"']?$", before):
        return len(value) >= 8 and (_mixed(value) or value.endswith("="))
    return _mixed(value) and not _name_like(value) and not _TECHNICAL.match(value)


def url_password(value: str, before: str = "") -> bool:
    """A password in its fixed place: anything but a placeholder or a reference."""
    bare = value.strip("{}<>")
    if before.endswith(f"://{value}:"):  # a service's own default, such as guest:guest
        return False
    return not (_PLACEHOLDER.search(value) or bare.lower() in _NOTHING or _EXAMPLE_WORD.search(value) or bare != value
                or bare.lower() in ("pass", "pwd", "pw", "passwd") or re.match(r"^[:%{]|^\d{1,5}$", value)
                or re.match(r"^[A-Z_]+$", value))  # fmt: skip


def flag_value(value: str, before: str = "") -> bool:
    if _REFERENCE.match(value) or value[0] in "-<$%{[(/" or _PATH.match(value):
        return False
    return assigned_value(value, before) or bool(
        re.search("pass", before) and _mixed(value) and not _TECHNICAL.match(value)
    )


def assigned_value(value: str, before: str = "") -> bool:
    """A value given to a name such as `password`, `api_key`, `client_secret`."""
    value = value.rstrip(".,;:") if not _quoted(before) else value.strip()
    name = before.lower()
    if _refused(value) or _NOT_SECRET_NAME.search(name) or _PASS_WORD.search(name):
        return False
    if " " in value:
        return "passphrase" in name and _quoted(before) and len(value.split()) > 3
    password = bool(re.search(r"pass|pwd", name))
    if _UUID.match(value):
        return bool(re.search(r"pass|secret|key", name))
    if not re.search("[A-Za-z]", value):
        return password and sum(char.isdigit() for char in value) >= 6 and not _DATE.match(value)
    if _mixed(value):
        return len(value) >= 6 and not _only_named(value, before, password)
    return _letters_secret(value, password, before)


def assigned_key(value: str, before: str = "") -> bool:
    """A value given to some other `…_key`: only what is plainly random."""
    return (
        len(value) >= 20
        and not _NOT_SECRET_NAME.search(before)
        and not _refused(value)
        and random(value)
        and entropy(value) > 3.2
    )


def spoken_pin(value: str, before: str = "") -> bool:
    digits = sum(char.isdigit() for char in value)
    said = before.lower()
    if re.search(r"(?:^|\W)pin(?: ?code| number)? ?$", said):
        return 4 <= digits <= 8 and "PIN" in before and not re.search("[ -]", value.strip())
    if said.rstrip().endswith("combination") and " is" not in said:
        return False
    return 4 <= digits <= 8 and not _DATE.match(value) and not re.match(r"^(?:19|20)\d\d-", value)


def spoken_value(value: str, before: str = "") -> bool:
    """What follows "the password is": a value, not the rest of a sentence."""
    quoted = value[0] in _QUOTES
    bare = value.strip(_QUOTES + ".,;:)")
    password = bool(re.search(r"(?i)pass|pwd|pw\b|credential", before))
    if len(bare) < 4 or _refused(bare) or _ADDRESS.match(bare) or bare.lower() in _SPOKEN_WORDS or _DATE.match(bare):
        return False
    if _UUID.match(bare) or re.search(r"(?i)-(?:\w+ed|based|only|like|style|bits?|bytes?|sensitive)$", bare):
        return False
    if _IDENTIFIER.match(bare) and re.search("[._]", bare):
        return False
    if bare.isdigit():
        return password and 4 <= len(bare) <= 12
    if quoted and password and len(bare) >= 6 and re.search(r"(?i)(?:is|was|are|to|as|be)\W*$", before):
        return not re.search(r"(?i)(?:set|changed)?\s+to\s*$", before) or _mixed(bare) or "set to" in before
    if _mixed(bare) or re.search(r"[A-Za-z][!@#$%^&*?~+=][A-Za-z!@#$%^&*?]", bare):
        strong = len(bare) >= (5 if password else 12)
        return strong and not (_name_like(bare) and not password) and not re.search(r"[()\[\]{}]|://", bare)
    return password and bare.count("-") >= 3 and bare.replace("-", "").isalpha()


def adjacent_value(value: str, before: str = "") -> bool:
    """A value right behind the word "password", with nothing between: it has to be plain that it is one."""
    bare = value.strip(_QUOTES + ".,;:()")
    return (
        len(bare) >= 6
        and not _refused(bare)
        and not _ADDRESS.match(bare)
        and bool(re.search("[0-9]", bare) and re.search("[A-Za-z]", bare))
        and not _name_like(bare)
        and not re.search(r"[()\[\]{}=/\\]", bare)
    )


def _refused(value: str) -> bool:
    if len(value) < 4 or len(set(value)) < 3 or value.lower() in _NOTHING or value.endswith("("):
        return True
    if _PLACEHOLDER.search(value) and not re.match(r"^\$[^{(A-Za-z_]|^\$\w*[^\w{(]", value):
        return True
    if _HASH.match(value) or _DIGEST.match(value) or _TECHNICAL.match(value) or _REFERENCE.match(value):
        return True
    if _path_like(value) or _PATTERN.search(value):
        return True
    return bool(_EXAMPLE_WORD.search(value)) and (
        entropy(value) < 3.9 or bool(re.search(r"(?i)your|example|placeholder", value))
    )


def _path_like(value: str) -> bool:
    if not _PATH.match(value):
        return False
    return len(value) < 20 or len(re.findall(_NAMES_PATH, value)) >= value.count("/")


def _quoted(before: str) -> bool:
    return before[-1:] in ("'", '"', "`")


def _mixed(value: str) -> bool:
    return bool(re.search("[0-9]", value) and re.search("[A-Za-z]", value)) or bool(
        re.search(r"[A-Za-z]", value) and re.search(r"[!@#$%^&*~?+=]", value)
    ) or _shuffled(value)  # fmt: skip


def _shuffled(value: str) -> bool:
    """Letters only, but with capitals strewn as no name has them."""
    changes = len(re.findall(r"[a-z](?=[A-Z])|[A-Z](?=[a-z])", value))
    return len(value) >= 16 and value.isalpha() and changes * 3 > len(value)


def _name_like(value: str) -> bool:
    """Words and numbers joined by hyphens, dots or underscores, such as `prod-db-2` or `getUser_v2`."""
    parts = [part for part in re.split(r"[-_./:]", value) if part]
    plain = [
        part
        for part in parts
        if re.fullmatch(
            r"[a-z]+[0-9]{0,2}|[A-Z][a-z]+[0-9]{0,2}|[A-Z]+[0-9]?|[0-9]{1,4}|(?:[A-Z]?[a-z]{2,}){2,}[0-9]?", part
        )
    ]
    return (len(plain) == len(parts) and len(parts) > 1) or bool(re.fullmatch(r"(?:[A-Z]?[a-z]{2,}){3,}[0-9]?", value))


def _only_named(value: str, before: str, password: bool) -> bool:
    """A variable, constant, member or resource name where a value could stand."""
    if re.search(r"[!#$%^&*~?@+]", value):
        return bool(re.match(r"^[@&*]?[A-Za-z_]\w*$", value))
    if not _quoted(before):
        code = bool(re.search(r"\s(?:=|:=|=>)\s*$|\w\s*=$", before)) and not re.search(r"[A-Z0-9_]=$|:\s?$", before)
        if _IDENTIFIER.match(value) and (code or "." in value or "_" in value):
            return (
                not password
                or not re.search(r"[0-9]", value)
                or bool(re.search(r"pass|pwd|secret|token|_|\.", value.lower()))
            )
        if re.search(r"[.=]\w*$", value) and _IDENTIFIER.match(value.rstrip("=")):
            return True
    if _quoted(before) and len(value) >= 16 and _SIGNING_NAME.search(before):
        return False
    return _name_like(value) and (
        not password or value.lower().startswith(("pass", "my", "db", "user")) or "_" in value
    )


def _letters_secret(value: str, password: bool, before: str) -> bool:
    """Letters and hyphens only: a long unbroken run may be a passphrase, four joined words one given as password."""
    if re.search(r"pass(?:word|wd)[\"'`\]]*\s*=\s*[\"']$", before.lower()) and value.isalpha() and value.islower():
        return len(value) >= 8 and value not in _SPOKEN_WORDS
    if value.isalpha():
        return value.islower() and len(value) >= 16 and _quoted(before) and (password or "secret" in before.lower())
    strong_name = password or bool(_SIGNING_NAME.search(before))
    return strong_name and _quoted(before) and value.count("-") >= 3 and value.replace("-", "").isalpha()
