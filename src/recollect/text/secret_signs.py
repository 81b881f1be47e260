"""What a text must show before the rules about secrets are worth loading: one long word, or one of a few signs.

Most of what is remembered is plain prose and shows neither. The rules (`secret_rules`) are proven to match nothing in
such a text, so that dismissing it costs one pass and no import.
"""

LONG = 15  # characters without a space; the shortest token with a prefix of its own has as many
_SIGNS = (
    "pass", "pwd", "secret", "token", "credential", "creds", "key", "string", "wort", "woord", "contrase", "senha",
    "пароль", "密码", "パスワード", " pw ", "pin", "code", "combination", "log", "from ", "env ", "set ", "setx ",
    "auth", "://", "value=", "mysql", "mariadb", "redis-cli", "curl", "wget", "identified by", "sudo -s", "--",
    "bearer ", "private-lines",
)  # fmt: skip


def has_long_word(text: str) -> bool:
    return max(map(len, text.split()), default=0) >= LONG


def has_sign(lowered: str) -> bool:
    """`lowered` is the text in lower case."""
    return any(sign in lowered for sign in _SIGNS)
