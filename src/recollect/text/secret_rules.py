"""The shapes of secrets: one row per kind, with the marker that must be in the text before the pattern is tried.

Markers are lower-case literals looked for with plain `in`, so text without any pays for nothing else; every marker of
a rule that is not `long` contains one of the signs of `secret_signs`. Patterns are in RE2's syntax and run over UTF-8
bytes. Where a pattern has a group, the first one that matched is the secret and the rest of the match is context that
stays. Specific kinds stand before general ones: the first to claim a span keeps it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recollect.text import secret_looks as looks


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    markers: tuple[str, ...]
    pattern: str
    # Called with the secret and the text before it inside the match; no secret is reported unless it agrees.
    agrees: Callable[[str, str], bool] = looks.varied
    # Where the markers are everyday words: what else must be in the lower-case text, bounded so that it stays linear.
    shape: str = ""
    # The pattern only matches where LONG characters or more follow each other without a space.
    long: bool = False


def _token(name: str, pattern: str, *markers: str, shape: str = "") -> Rule:
    """A token with a telling prefix, standing on its own."""
    return Rule(name, markers, rf"(?:^|[^A-Za-z0-9_])({pattern})", shape=shape, long=True)


_B64 = "[A-Za-z0-9+/]"
_URL64 = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_PEM_BODY = r"A-Za-z0-9+/=\s\\,:.()@<>_\""
_PEM = "-----(?:BEGIN) [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"

_KEYS_AND_CLOUDS = (
    Rule(
        "private-key",
        ("private key",),
        # Neither branch runs past five dashes, so a row of opening lines is read once, not once for each of them.
        rf"{_PEM}(?:(?:[{_PEM_BODY}]|-{{1,4}}[{_PEM_BODY}])*-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----"
        rf"|[A-Za-z0-9+/=\s\\]*)",
        looks.key_body,
    ),
    Rule("age-key", ("age-secret-key-",), "AGE-SECRET-KEY-1[A-Z0-9]{40,70}", long=True),
    Rule("putty-key", ("private-lines:",), rf"Private-Lines: ?[0-9]+((?:\r?\n{_B64}+=*)+)"),
    Rule(
        "aws-secret-key",
        ("aws", "akia", "asia", "secretaccesskey", "secret_access_key", "secret access key"),
        rf"(?i)(?:aws|secret.?access.?key|A[KS]IA[A-Z0-9]{{16}})(?s:.){{0,80}}?[^A-Za-z0-9/+]({_B64}{{40}})"
        rf"(?:[^A-Za-z0-9/+=]|$)",
        looks.base64_like,
        r"[a-z0-9/+]{40}",
        long=True,
    ),
    _token("aws-access-key", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "akia", "asia", "abia", "acca",
           shape=r"a[ksbc][ic]a[a-z0-9]{16}"),
    _token("aws-bedrock-key", f"ABSK{_B64}{{100,200}}={{0,2}}", "absk"),
    _token("gcp-api-key", f"AIza{_URL64}{{35,}}", "aiza"),
    _token("google-oauth-token", f"ya29\\.{_URL64}{{20,}}", "ya29."),
    _token("google-client-secret", f"GOCSPX-{_URL64}{{20,}}", "gocspx-"),
    _token("google-refresh-token", f"1//0{_URL64}{{40,}}", "1//0"),
    Rule("azure-storage-key", ("accountkey",), rf"(?i)AccountKey[\"']?\s*[=:]\s*[\"']?({_B64}{{60,}}={{0,2}})",
         long=True),
    Rule("azure-access-key", ("sharedaccesskey",), rf"(?i)SharedAccessKey=({_B64}{{20,}}={{0,2}})", long=True),
    Rule("azure-sas", ("sig=",), r"[?&;]sig=([A-Za-z0-9%+/=_-]{40,})", long=True),
    _token("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,36}", "q~"),
    _token("azure-devops-token", "[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}", "azdo"),
    _token("digitalocean-token", f"do[opr]_v1_{_HEX}{{40,}}", "dop_v1_", "doo_v1_", "dor_v1_"),
    _token("databricks-token", "dapi[0-9a-f]{32}(?:-[0-9])?", "dapi"),
    _token("vault-token", f"hv[sbr]\\.{_URL64}{{20,}}", "hvs.", "hvb.", "hvr."),
    Rule("vault-token", ("vault",), r"(?i)vault[^\n]{0,40}[^A-Za-z0-9](s\.[A-Za-z0-9]{24})(?:[^A-Za-z0-9]|$)",
         long=True),
    Rule("terraform-token", (".atlasv1.",), f"([A-Za-z0-9]{{14}}\\.atlasv1\\.{_URL64}{{40,}})", long=True),
    _token("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}", "pscale_"),
    _token("supabase-token", f"(?:sbp_[0-9a-f]{{40}}|sb_secret_{_URL64}{{20,}})", "sbp_", "sb_secret_"),
    Rule("heroku-key", ("heroku",), rf"(?i)heroku[^\n]{{0,40}}?[^A-Za-z0-9]({_UUID})", long=True),
    _token("heroku-key", f"HRKU-{_URL64}{{30,}}", "hrku-"),
    Rule("cloudflare-token", ("cloudflare", "cf_api", "cf-api", "x-auth-key"),
         r"(?i)(?:cloudflare|cf[_-]api|x-auth-key)[^\n]{0,40}?[=:\s\"'`]([A-Za-z0-9_-]{37,40})"
         r"(?:[^A-Za-z0-9_-]|$)", looks.random, long=True),
    _token("cloudflare-origin-key", f"v1\\.0-{_HEX}{{24}}-{_HEX}{{100,}}", "v1.0-"),
    _token("tailscale-key", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}", "tskey-"),
    _token("fly-token", r"(?:fo1_[A-Za-z0-9_-]{40,}|fm[12][a-z]?_[A-Za-z0-9+/=_-]{60,})", "fo1_", "fm1", "fm2"),
    _token("netlify-token", "nfp_[A-Za-z0-9]{36,}", "nfp_"),
    _token("docker-token", f"dckr_(?:pat|oat)_{_URL64}{{20,}}", "dckr_"),
    _token("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{36,}", "dp.",
           shape=r"dp\.[a-z]{2,5}\.[a-z0-9_.-]{36}"),
    _token("pulumi-token", "pul-[0-9a-f]{40}", "pul-"),
)  # fmt: skip

_CODE_AND_CHAT = (
    _token("github-token", "gh[pousr]_[A-Za-z0-9]{30,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github-token", "github_pat_[A-Za-z0-9_]{30,}", "github_pat_"),
    _token("gitlab-token", r"gl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{18,}", "gl",
           shape=r"gl[a-z]{2,5}-[a-z0-9_.-]{18}"),
    _token("bitbucket-token", "ATBB[A-Za-z0-9]{20,}", "atbb"),
    _token("atlassian-token", r"AT(?:ATT|CTT)3[A-Za-z0-9_=+/.-]{30,}", "atatt3", "atctt3"),
    _token("slack-token", r"xox[a-z]-[A-Za-z0-9-]{10,}", "xox"),
    _token("slack-token", r"xoxe\.xox[bp]-[A-Za-z0-9-]{10,}", "xoxe."),
    _token("slack-app-token", r"xapp-[0-9]-[A-Za-z0-9-]{10,}", "xapp-"),
    Rule("slack-webhook", ("hooks.slack.com",),
         r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})", long=True),
    Rule("discord-webhook", ("/api/webhooks/",),
         r"discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/([A-Za-z0-9_-]{30,})", long=True),
    Rule("teams-webhook", ("webhook.office.com",), r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{40,})", long=True),
    _token("discord-token", f"[MNO][A-Za-z0-9_-]{{23,28}}\\.{_URL64}{{6}}\\.{_URL64}{{27,45}}", ".",
           shape=r"[mno][a-z0-9_-]{23,28}\.[a-z0-9_-]{6}\.[a-z0-9_-]{27}"),
    _token("telegram-token", f"[0-9]{{8,10}}:{_URL64}{{34,36}}", ":", shape=r"[0-9]{8,10}:[a-z0-9_-]{34}"),
    _token("npm-token", "npm_[A-Za-z0-9]{36,}", "npm_"),
    _token("pypi-token", f"(?:pypi|testpypi)-{_URL64}{{40,}}", "pypi-"),
    _token("rubygems-token", "rubygems_[0-9a-f]{40,}", "rubygems_"),
    _token("cargo-token", "cio[A-Za-z0-9]{32}", "cio", shape=r"cio[a-z0-9]{32}"),
    _token("nuget-key", "oy2[a-z0-9]{43}", "oy2", shape=r"oy2[a-z0-9]{43}"),
    _token("postman-key", "PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "pmak-"),
    _token("linear-key", "lin_(?:api|oauth)_[A-Za-z0-9]{30,}", "lin_api_", "lin_oauth_"),
    _token("notion-token", "(?:secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{36,})", "secret_", "ntn_"),
    _token("figma-token", f"fig[dou]r?_{_URL64}{{36,}}", "figd_", "figo", "figu", shape=r"fig[dou]r?_"),
    _token("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{60,}", "pat", shape=r"pat[a-z0-9]{14}\.[0-9a-f]{60}"),
    _token("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{30,}", "sntrys_", "sntryu_"),
    _token("new-relic-key", "NR(?:AK|JS|AA|II|IQ|RA"
         "|SP)-[A-Za-z0-9_-]{19,}", "nrak-", "nrjs-", "nraa-", "nrii-", "nriq-", "nrra-", "nrsp-"),
    _token("new-relic-key", "[0-9a-f]{36}NRAL", "nral"),
    _token("grafana-token", r"gl(?:sa|c)_[A-Za-z0-9+/=_-]{30,}", "glsa_", "glc_"),
    _token("dropbox-token", r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}", "sl.", shape=r"sl\.[a-z0-9_.-]{60}"),
    _token("contentful-token", f"CFPAT-{_URL64}{{40,}}", "cfpat-"),
    _token("artifactory-key", "AKCp[A-Za-z0-9]{50,}", "akcp"),
    _token("1password-token", r"ops_eyJ[A-Za-z0-9_-]{60,}", "ops_eyj"),
)  # fmt: skip

_PAY_MAIL_AI = (
    _token("stripe-key", "[sr]k_(?:live|test"
         "|prod)_[A-Za-z0-9]{10,}", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"),
    _token("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/=]{20,}", "whsec_"),
    _token("square-token", f"(?:sq0[a-z]{{3}}-{_URL64}{{20,}}|EAAA[A-Za-z0-9_+=-]{{56,64}})", "sq0", "eaaa",
           shape=r"sq0[a-z]{3}-|eaaa[a-z0-9_+=-]{56}"),
    _token("shopify-token", "shp(?:at|ca|pa|ss|ua"
         "|tka)_[0-9a-fA-F]{32}", "shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"),
    _token("paypal-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "access_token$"),
    _token("facebook-token", "EAA[A-Z][A-Za-z0-9]{60,}", "eaa", shape=r"eaa[a-z0-9]{61}"),
    _token("twilio-key", "(?:AC|SK)[0-9a-f]{32}", "ac", "sk", shape=r"(?:ac|sk)[0-9a-f]{32}"),
    _token("sendgrid-key", f"SG\\.{_URL64}{{16,32}}\\.{_URL64}{{16,64}}", "sg.", shape=r"sg\.[a-z0-9_-]{16}"),
    _token("mailgun-key", "key-[0-9a-zA-Z]{32}", "key-", shape=r"key-[0-9a-z]{32}"),
    Rule("mailgun-key", ("mailgun",),
         rf"(?i)mailgun[^\n]{{0,60}}?[^A-Za-z0-9-]({_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}})", long=True),
    _token("mailchimp-key", "[0-9a-f]{32}-us[0-9]{1,2}", "-us", shape=r"[0-9a-f]{32}-us"),
    _token("brevo-key", r"xkeysib-[0-9a-f]{40,}-[A-Za-z0-9]{12,}", "xkeysib-"),
    _token("anthropic-key", f"sk-ant-{_URL64}{{16,}}", "sk-ant-"),
    _token("openai-key", f"sk-(?:proj|svcacct|admin|None|or-v1|lf)-{_URL64}{{16,}}", "sk-"),
    Rule("openai-key", ("sk-",), r"(?:^|[^A-Za-z0-9_-])(sk-[A-Za-z0-9_-]{20,})", looks.random, long=True),
    _token("huggingface-token", "(?:hf|api_org)_[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    _token("groq-key", "gsk_[A-Za-z0-9]{40,}", "gsk_"),
    _token("xai-key", "xai-[A-Za-z0-9]{60,}", "xai-"),
    _token("replicate-token", "r8_[A-Za-z0-9]{30,}", "r8_"),
    _token("perplexity-key", "pplx-[A-Za-z0-9]{40,}", "pplx-"),
    _token("tavily-key", "tvly-[A-Za-z0-9-]{24,}", "tvly-"),
    _token("mapbox-token", r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}", "sk.eyj"),
)  # fmt: skip

# A name of something secret, with what may stand before and after it, as in `prod.dbPassword2` or `X-Api-Key`.
_NAME = (
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|kennwort|wachtwoord|mot de passe|contraseña|senha|пароль|密码|パスワード"
    r"|secret|token|credentials?|conn(?:ection)?[_-]?string"
    r"|(?:api|app|auth|access|secret|private|encryption|encrypt|signing|sign|master|session|license|client|service"
    r"|account"
    r"|jwt|hmac|shared|webhook|deploy|storage|admin|cipher|crypto|aes|root|bot|consumer|security|sso|smtp"
    r"|server)[_. -]?key)"
)
_FOREIGN = ("wort", "woord", "passe", "contrase", "senha", "пароль", "密码", "パスワード")
_KEY_WORDS = ("api key", "apikey", "access key", "secret key", "private key", "license key", "account key")
_FROM = r"(?:password|passcode|passphrase|pin|token|api key)\s[^\n]{0,30}?from\s"
_BEFORE = r"(?:[A-Za-z0-9_.$-]{0,60}[A-Za-z0-9_.$\[\"'-])?"
_AFTER = (
    r"(?:[_-]?(?:[0-9]{1,2}|value|prod|production|dev|test|staging|live|base64|b64|raw|plain|text|key|string|hex))?"
)
_TYPE = r"(?:\??:\s?&?[A-Za-z_][A-Za-z0-9_.\[\]<>:| ]{0,30}?\s?)?"
_SIGN = r"(?:\s{0,4}(?:=>|:=|\?=|==?|:{1,2})\*{0,2}\s{0,4}|=3D|%3D)"
_SEPARATOR = rf"\\?[\"'`*]{{0,2}}\]?\)?(?:{_TYPE}{_SIGN}|\s\|\s)"
_QUOTED = r"[bru]?\\?(?:\"((?:[^\"\\\n]|\\[^\n\"]){3,300})|'((?:[^'\\\n]|\\[^\n']){3,300})|`([^`\n]{3,300})`)"
_BARE = r"([^\s\"'`,;<>(){}\[\]|&\\*][^\s\"'`,;<>(){}\[\]|&\\]{3,300}\(?)"  # a call is taken along, to be refused

_GENERAL = (
    _token("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?", "eyj"),
    Rule("url-password", ("://",), r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>`]{0,200}:"
         r"([^\s/\"'<>`]{1,300})@[A-Za-z0-9\[_$%{-]",
         looks.url_password, r"://[^\s/]{0,500}@"),
    Rule("url-token", ("://",), r"https?://([A-Za-z0-9_-]{20,255})(?::x-oauth-basic)?@[A-Za-z0-9]", looks.random,
         r"://[^\s/]{0,500}@", long=True),
    Rule("authorization", ("bearer ", "authorization"),
         r"(?i)(?:bearer|authorization[\"']?\s?[:=,]\s?[\"']?(?:basic|token|digest|apikey"
         r"|negotiate)?)\s{1,3}[\"']?([A-Za-z0-9._~+/=:-]{8,900})",
         looks.bearer),
    Rule("basic-auth", ("curl", "wget"), r"(?:\s-u|--user|--proxy-user)[= ]?[\"']?[^\s:\"']{1,60}:"
         r"([^\s\"'@]{3,200})", looks.url_password),
    Rule("connection-string", ("password=", "pwd="),
         r"(?i)(?:server|data source|host|user id|uid|user|username|database|initial catalog"
         r"|driver)\s?=[^;\n]{1,120};(?:[^;\n]{0,80};){0,6}?\s?"
         r"(?:password|pwd)\s?=\s?[\"']?([^;\"'\s]{3,120})", looks.url_password),
    Rule("sql-password", ("identified by", "password '", 'password "'),
         r"(?i)(?:identified by|(?:with|set|login|encrypted)\s+password)\s+=?\s?['\"]"
         r"([^'\"\n]{4,120})['\"]", looks.url_password),
    Rule("netrc-password", ("login ",), r"(?i)\blogin\s+\S{1,80}\s+password\s+"
         r"(\S{4,120})", looks.url_password),
    Rule("xml-password", ("password>", "secret>", "token>", "key>", "passphrase>", "pwd>"),
         r"(?i)<(?:[A-Za-z0-9_.:-]{0,30}(?:password|passphrase|pwd|secret|token|api[_-]?key|[a-z]key))"
         r"(?:\s[^<>]{0,80})?>([^<>\s]{4,200})</",
         looks.assigned_value),
    Rule("xml-password", ("value=",),
         rf"(?i)(?:key|name)=\"[A-Za-z0-9_.:-]{{0,40}}{_NAME}\"\s+value=\"([^\"\n]{{4,200}})\"", looks.assigned_value),
    Rule("flag-password", ("--pass", "--token", "--secret", "--api", "--key", "--access", "--auth", "--cl", "sshpass"),
         r"(?i)(?:--(?:[a-z]{1,20}-){0,2}(?:pass(?:word|wd|phrase)?|token|secret|(?:api|access|auth|secret"
         r"|account)-?key)(?:[= ]\s?)|sshpass\s+-p\s?)[\"']?([^\s\"'`]{4,300})",
         looks.flag_value),
    Rule("flag-password", ("mysql", "mariadb", "redis-cli"),
         r"(?:(?:mysql[a-z]*|mariadb[a-z-]*)\s[^\n|]{0,80}?-p|redis-cli\s[^\n|]{0,60}?-a\s{1,3})[\"']?([^\s\"'`]{5,120})",
         looks.adjacent_value),
    Rule("piped-password", ("sudo -s",),
         r"echo\s+(?:-n\s+)?[\"']?([^\s\"'`|]{4,120})[\"']?\s?\|\s?sudo\s+-S", looks.url_password),
    Rule("passed-password", ("auth=", "auth ="),
         r"(?i)auth\s?=\s?\(\s?[\"'][^\"'\n]{1,80}[\"']\s?,\s?[\"']([^\"'\n]{4,120})", looks.url_password),
    Rule("passed-password", ("password(", "secret(", "token(", "key("),
         r"(?i)set_?(?:[a-z]{1,20}_?)??(?:password|secret|token|api_?key)\(\s?(?:[\"'][^\"'\n]{1,60}[\"']\s?,\s?)?"
         r"[\"']([^\"'\n]{4,300})[\"']", looks.assigned_value),
    Rule("env-password", ("env ", "setx ", "set "),
         r"(?:ENV|ARG|setx|set)\s+[A-Za-z0-9_]{0,40}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY)\s+[\"']?"
         r"([^\s\"'=]{6,300})", looks.adjacent_value,
         r"\s[a-z0-9_]{0,40}(?:passw(?:or)?d|secret|token|api_key)\s"),
    Rule("assigned-secret", ("pass", "pwd", "secret", "token", "credential", "key", "string", *_FOREIGN),
         rf"(?i){_BEFORE}{_NAME}{_AFTER}(?:{_SEPARATOR}(?:{_QUOTED}|{_BARE})|[\"'`]\s?,\s?{_QUOTED})",
         looks.assigned_value,
         r"(?:pass|pwd|secret|token|credential|key|string|" + "|".join(_FOREIGN)
         + r")[a-zñ0-9_\"'`*\])\\ ?-]{0,20}(?:[=:|,]|%3d)"),
    Rule("assigned-key", ("_key", "-key"), rf"(?i){_BEFORE}[a-z0-9][_-]key[\"'`]?\]?{_SIGN}(?:{_QUOTED}|"
         rf"([A-Za-z0-9_+/.~-]{{16,300}}={{0,2}}))", looks.assigned_key,
         r"[a-z0-9][_-]key[\"'`\]]{0,2} {0,4}[=:]"),
    Rule("spoken-pin", ("pin", "code", "combination"),
         r"(?i)(?:^|[^A-Za-z0-9_])(?:pin(?: ?code| number)?|pass ?code|(?:door|gate|alarm|safe|access|security"
         r"|entry|unlock|lock|garage|vault|building|voicemail|2fa|backup)"
         r" (?:code|combination|pin)|combination)(?: (?:for|to|of|on|at) [^\n.:;=]{1,50}?)?(?: (?:is|was|=)(?: now"
         r"| still)?|:|=|\s?->)?:? ?[\"'`#]?([0-9][0-9 -]{2,10}[0-9]#?)",
         looks.spoken_pin, r"(?:pin|code|combination)\b[^\n]{0,70}?[0-9]{3}"),
    Rule("spoken-password", ("pass", "pwd", "secret", "token", "credential", " pw ", *_KEY_WORDS, *_FOREIGN),
         r"(?i)(?:^|[^A-Za-z0-9_])(?:pass ?(?:word|phrase|code|wort|wd|e)?|pwd|pw|kennwort|contraseña|senha"
         r"|(?:api|access|secret|private|license|account) ?key|secret|token|credentials?)"
         r"(?:\s+(?:for|to|of|on|at|in)\s+[^\n:;=]{1,60}?)?"
         r"(?:\s+(?:is|ist|est|es|war|was|are|will be|should be|must be|to be|to"
         r"|set to|changed to|reset to|as)|\s?[:=]|\s?->)"
         r"(?:\s+(?:now|currently|still|just|simply|set to|changed to|always|actually|called|again))*:?\s+"
         r"([\"'`“‘*]{0,2}[^\s]{4,120})", looks.spoken_value),
    Rule("spoken-password", ("from ",),
         r"(?i)(?:password|passcode|passphrase|pin|token|api key)\s[^\n]{0,30}?\bfrom\s+([^\s]{4,120})\s+to\s",
         looks.spoken_value, _FROM),
    Rule("spoken-password", ("from ",),
         r"(?i)(?:password|passcode|passphrase|pin|token|api key)\s[^\n]{0,30}?\bfrom\s+[^\s]{4,120}\s+to\s+"
         r"([^\s]{4,120})",
         looks.spoken_value, _FROM),
    Rule("spoken-password", ("token", "secret", *_KEY_WORDS),
         r"(?i)(?:^|[^A-Za-z0-9_])(?:token|api key|access key|secret)\s+[\"'`(]?([A-Za-z0-9_+/=.~-]{16,300})",
         looks.random, r"[a-z0-9_+/=.~-]{16}"),
    Rule("spoken-password", ("pass", "pwd"),
         r"(?i)(?:^|[^A-Za-z0-9_])(?:password|passcode|passphrase|pwd)\s+([\"'`(]?[^\s]{6,120})", looks.adjacent_value),
    Rule("spoken-password", ("login", "log in", "credentials", "creds"),
         r"(?i)\b(?:login|log in|credentials|creds)(?: (?:with|as|are|is|using"
         r"|for [^\n:]{1,30}))?:?\s+[A-Za-z0-9_.@+-]{2,60}\s?[/:]\s?(\S{6,80})",
         looks.adjacent_value),
)  # fmt: skip

RULES = (*_KEYS_AND_CLOUDS, *_CODE_AND_CHAT, *_PAY_MAIL_AI, *_GENERAL)


def _by_marker(rules: Iterable[tuple[int, Rule]]) -> tuple[tuple[str, tuple[tuple[str, tuple[int, ...]], ...]], ...]:
    """Each distinct marker once, with the rules that it wakes, under a character that it contains: text without that
    character skips the whole group, and the rest is one pass of plain `in`."""
    woken: dict[str, tuple[int, ...]] = {}
    for number, rule in rules:
        for marker in rule.markers:
            woken[marker] = (*woken.get(marker, ()), number)
    groups: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for marker, numbers in woken.items():
        rare = next((char for char in "_-:./=~0123456789 " if char in marker), "")
        groups.setdefault(rare, []).append((marker, numbers))
    return tuple((rare, tuple(markers)) for rare, markers in groups.items())


BY_MARKER = _by_marker(enumerate(RULES))
SHORT_BY_MARKER = _by_marker((number, rule) for number, rule in enumerate(RULES) if not rule.long)
