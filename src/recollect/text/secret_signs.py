"""What a text must show before the rules about secrets are worth loading: one long word, or a word with a sign in it.

Most of what is remembered is plain prose and shows neither. The rules (`secret_rules`) are proven to match nothing in
such a text, so that dismissing it costs one look at each word and no import.
"""

LONG = 15  # characters without a space; the shortest token with a prefix of its own has as many
_SIGNS = (  # a space stands for the word's beginning or end
    "pass", "pwd", "secret", "token", "credential", "creds", "key", "string", "wort", "woord", "contrase", "senha",
    "пароль", "密码", "パスワード", " pw ", "pin", "code", "combination", "log", "from ", "env ", "set ", "setx ",
    "auth", "://", "value=", "mysql", "mariadb", "redis-cli", "curl", "wget", "identified ", "sudo ", "--", "bearer ",
    "private-lines",
)  # fmt: skip
_MOST = 1 << 15


class _Memo(dict[str, bool]):
    """Whether a word is long or has a sign in it; the same words come again and again."""

    def __missing__(self, word: str) -> bool:
        if len(word) >= LONG:
            return True
        lowered = f" {word.lower()} "
        found = any(sign in lowered for sign in _SIGNS)
        if len(self) >= _MOST:
            self.clear()
        self[word] = found
        return found


_memo = _Memo()


def suspicious(words: list[str]) -> bool:
    """False where no rule can find anything; `words` are the text's, split at white space."""
    return any(map(_memo.__getitem__, words))
