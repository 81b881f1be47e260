"""A corpus of secrets and of things that only look like them, generated from a seed so that no secret is written here.

`positives()` gives (kind, line, secret) and `negatives()` gives (kind, line); the same on every run.
"""

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
HEX = DIGITS + "abcdef"
URL64 = ALNUM + "_-"
B64 = ALNUM + "+/"

Maker = Callable[[random.Random], str]


def _pick(rng: random.Random, alphabet: str, count: int) -> str:
    """`count` characters with at least one digit and, where the alphabet has them, one of each case."""
    chars = [rng.choice(alphabet) for _ in range(count)]
    kinds = [kind for kind in (DIGITS, LOWER, UPPER) if set(kind) & set(alphabet)]
    for place, kind in enumerate(kinds):
        chars[(place * 2 + 1) % count] = rng.choice(sorted(set(kind) & set(alphabet)))
    return "".join(chars)


def _jwt(rng: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(f'{{"sub":"{rng.randrange(10**9)}","name":"x"}}'.encode()).decode().rstrip("=")
    return f"{head}.{body}.{_pick(rng, URL64, 43)}"


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _password(rng: random.Random) -> str:
    words = ["horse", "Sommer", "tiger", "blue", "Kaffee", "winter", "dragon", "Orchid"]
    shapes = [
        lambda: rng.choice(words) + str(rng.randrange(10, 9999)) + rng.choice("!#%&*") + _pick(rng, LOWER, 6),
        lambda: _pick(rng, ALNUM, rng.randrange(10, 20)),
        lambda: _pick(rng, ALNUM + "!@#%^*-_", rng.randrange(10, 18)),
        lambda: rng.choice(words) + str(rng.randrange(2, 99)) + rng.choice(words).lower(),
    ]
    return rng.choice(shapes)().strip("-_@")


def _hexes(prefix: str, count: int, alphabet: str = HEX, tail: str = "") -> Maker:
    return lambda rng: prefix + _pick(rng, alphabet, count) + tail


TOKENS: dict[str, Maker] = {
    "aws-access-key": _hexes("AKIA", 16, UPPER + "234567"),
    "gcp-api-key": _hexes("AIza" + "Sy", 33, URL64),
    "google-oauth": _hexes("ya29.", 60, URL64),
    "google-client-secret": _hexes("GOCSPX" + "-", 28, URL64),
    "github-classic": _hexes("ghp" + "_", 36, ALNUM),
    "github-server": _hexes("ghs" + "_", 36, ALNUM),
    "github-fine": lambda rng: "github" + "_pat_" + _pick(rng, ALNUM, 22) + "_" + _pick(rng, ALNUM, 59),
    "gitlab": _hexes("glpat" + "-", 20, URL64),
    "slack-bot": lambda rng: (
        f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**12, 10**13)}-{_pick(rng, ALNUM, 24)}"
    ),
    "slack-user": lambda rng: (
        f"xoxp-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**11, 10**12)}-{_pick(rng, HEX, 32)}"
    ),
    "slack-app": lambda rng: (
        f"xapp-1-A{_pick(rng, UPPER + DIGITS, 10)}-{rng.randrange(10**12, 10**13)}-{_pick(rng, HEX, 64)}"
    ),
    "discord-bot": lambda rng: f"M{_pick(rng, ALNUM, 23)}.{_pick(rng, URL64, 6)}.{_pick(rng, URL64, 27)}",
    "telegram": lambda rng: f"{rng.randrange(10**8, 10**10)}:AA{_pick(rng, URL64, 32)}x",
    "stripe-live": _hexes("sk" + "_live_", 24, ALNUM),
    "stripe-restricted": _hexes("rk" + "_test_", 24, ALNUM),
    "stripe-webhook": _hexes("whsec" + "_", 32, ALNUM),
    "twilio": _hexes("SK", 32),
    "sendgrid": lambda rng: "SG" + f".{_pick(rng, URL64, 22)}.{_pick(rng, URL64, 43)}",
    "mailgun": _hexes("key" + "-", 32),
    "mailchimp": _hexes("", 32, HEX, "-us14"),
    "openai": _hexes("sk" + "-", 48, ALNUM),
    "openai-project": _hexes("sk" + "-proj-", 64, URL64),
    "anthropic": lambda rng: "sk" + f"-ant-api03-{_pick(rng, URL64, 93)}AA",
    "huggingface": _hexes("hf" + "_", 34, ALNUM),
    "npm": _hexes("npm" + "_", 36, ALNUM),
    "pypi": _hexes("pypi" + "-AgEIcHlwaS5vcmc", 80, URL64),
    "digitalocean": _hexes("dop" + "_v1_", 64),
    "databricks": _hexes("dapi", 32),
    "vault": _hexes("hvs" + ".", 90, URL64),
    "shopify": _hexes("shpat" + "_", 32),
    "square": _hexes("sq0atp" + "-", 22, URL64),
    "linear": _hexes("lin" + "_api_", 40, ALNUM),
    "notion": _hexes("ntn" + "_", 46, ALNUM),
    "figma": _hexes("figd" + "_", 40, URL64),
    "atlassian": _hexes("ATATT" + "3xFfGF0", 180, URL64),
    "sentry": _hexes("sntryu" + "_", 64),
    "new-relic": _hexes("NRAK" + "-", 27, UPPER + DIGITS),
    "doppler": _hexes("dp" + ".pt.", 43, ALNUM),
    "supabase": _hexes("sbp" + "_", 40),
    "grafana": _hexes("glsa" + "_", 32, ALNUM, "_1f2e3d4c"),
    "docker": _hexes("dckr" + "_pat_", 27, URL64),
    "postman": lambda rng: "PMAK" + f"-{_pick(rng, HEX, 24)}-{_pick(rng, HEX, 34)}",
    "groq": _hexes("gsk" + "_", 52, ALNUM),
    "jwt": _jwt,
}

AROUND = [
    "{}",
    "here is the key {} please rotate it",
    'client = Client("{}")',
    'API = "{}"  # prod',
    "export SERVICE_TOKEN={}",
    '{{"name": "svc", "value": "{}"}}',
    "  value: {}",
    "2026-03-01T10:00:00Z ERROR request failed auth={} status=401",
    "- `{}` is what the deploy uses",
    "curl -H 'X-Auth: {}' https://api.example.com/v1/items",
    "GET /v1/items?access={}&page=2",
    "(see {}).",
]

NAMED: dict[str, tuple[Maker, list[str]]] = {
    "aws-secret": (
        lambda rng: _pick(rng, B64, 40),
        [
            "aws_secret_access_key = {}",
            'AWS_SECRET_ACCESS_KEY="{}"',
            '"SecretAccessKey": "{}",',
            "export AWS_SECRET_ACCESS_KEY={}",
            "aws configure set aws_secret_access_key {}",
            "secretAccessKey: '{}'",
            "the aws secret is {} for the ci user",
        ],
    ),
    "azure-storage": (
        lambda rng: _pick(rng, B64, 86) + "==",
        [
            "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey={};EndpointSuffix=core.windows.net",
            'AZURE_STORAGE_KEY="{}"',
            "AccountKey={}",
        ],
    ),
    "azure-client": (
        lambda rng: _pick(rng, ALNUM, 3) + "8Q~" + _pick(rng, ALNUM + "_~.-", 33) + "a",
        ["AZURE_CLIENT_SECRET={}", 'clientSecret: "{}"', "the app secret {} expires in May"],
    ),
    "slack-webhook": (
        lambda rng: f"T{_pick(rng, UPPER + DIGITS, 8)}/B{_pick(rng, UPPER + DIGITS, 8)}/{_pick(rng, ALNUM, 24)}",
        ["https://hooks.slack.com/" + "services/{}", 'url = "https://hooks.slack.com/' + 'services/{}"'],
    ),
    "discord-webhook": (
        lambda rng: _pick(rng, URL64, 68),
        [
            "https://discord.com/api/webhooks/829384756102938475/{}",
            "post to https://discordapp.com/api/webhooks/829384756102938475/{} ok",
        ],
    ),
    "heroku": (_uuid, ["HEROKU_API_KEY={}", 'heroku_api_key: "{}"', "heroku auth token {}"]),
    "cloudflare": (
        lambda rng: _pick(rng, URL64, 40),
        ["CLOUDFLARE_API_TOKEN={}", 'cloudflare_token = "{}"', "CF_API_TOKEN: {}"],
    ),
    "url-password": (
        lambda rng: _pick(rng, ALNUM + "!*-_", 14).strip("-_"),
        [
            "postgres://app:{}@db.internal:5432/main",
            "DATABASE_URL=postgresql+psycopg://svc:{}@10.0.0.4/main?sslmode=require",
            "redis://:{}@cache:6379/0",
            "mongodb+srv://admin:{}@cluster0.abcd.mongodb.net/test",
            "git clone https://deploy:{}@git.example.com/org/repo.git",
            "amqp://guest:{}@rabbit:5672/vhost and more",
            '"proxy": "http://corp:{}@proxy.local:8080"',
            "ftp://bob:{}@files.example.com",
            "smtp://mailer:{}@smtp.example.com:587",
            "mysql://root:{}@localhost/app",
        ],
    ),
    "bearer": (
        lambda rng: _pick(rng, URL64, 40),
        [
            "Authorization: Bearer {}",
            'headers = {{"Authorization": "Bearer {}"}}',
            "curl -H 'Authorization: Bearer {}' https://x.example.com",
            "authorization: token {}",
        ],
    ),
    "basic": (
        lambda rng: base64.b64encode(f"admin:{_pick(rng, ALNUM, 12)}".encode()).decode(),
        ["Authorization: Basic {}", "-H 'Authorization: Basic {}'"],
    ),
    "password": (
        _password,
        [
            'password = "{}"',
            "DB_PASSWORD={}",
            "db_password: {}",
            '"password": "{}",',
            "password: '{}'",
            "PGPASSWORD={} psql -h db",
            "mysql --user root --password {}",
            'const dbPassword = "{}";',
            "  adminPassword: {}",
            "conn = connect(host='db', password='{}')",
            "Server=db;User Id=sa;Password={};Encrypt=true",
            'String passwd = "{}";',
            "ALTER USER app WITH PASSWORD '{}';",
            "password => '{}',",
            "spring.datasource.password={}",
            "<password>{}</password>",
            "let pwd = `{}`",
            "$env:SMTP_PASSWORD = '{}'",
            "ENV ROOT_PASSWORD={}",
            'password: str = "{}"',
        ],
    ),
    "prose": (
        lambda rng: (
            rng.choice(["horse", "tiger", "maple", "robot"])
            + str(rng.randrange(10, 9999))
            + rng.choice(["Fox", "sun", "!gate", "owl"])
        ),
        [
            "the wifi password is {}",
            "my password is {}",
            "The Wi-Fi password for the guest network is {}.",
            "remember: the admin password is now {}",
            "Passwort: {}",
            "the root password was {} until March",
            "password for the NAS: {}",
            "use the password {} to get in",
            "the passphrase is '{}'",
            'login is bob and the password is "{}"',
            "I changed the router password to {}",
            "credentials: admin / {}",
        ],
    ),
    "shell": (
        lambda rng: rng.choice(["Maple", "s3cret", "Tango"]) + _pick(rng, ALNUM, 8),
        [
            "mysql -u root -p{} mydb",
            "redis-cli -h cache -a {} ping",
            "curl -u admin:{} https://x.example.com",
            'sshpass -p "{}" ssh bob@host',
            'echo "{}" | sudo -S apt update',
            'requests.get(url, auth=("admin", "{}"))',
            'user.setPassword("{}")',
            "docker run -e POSTGRES_PASSWORD={} postgres",
            "ENV DB_PASSWORD {}",
            "helm install app --set auth.password={}",
            "define('DB_PASSWORD', '{}');",
            "user=admin&password={}&next=1",
            '{{"user": "bob", "pass": "{}"}}',
            "| password | {} |",
            "**Password:** {}",
            "machine api.example.com login bob password {}",
            "jdbc:postgresql://h/db?user=bob&password={}",
        ],
    ),
    "other-language": (
        lambda rng: rng.choice(["Sommer", "Soleil", "Verano"]) + str(rng.randrange(1000, 9999)) + "!",
        ["Passwort ist {}", "mot de passe : {}", "contraseña: {}", "Kennwort: {}", "senha: {}", "密码: {}"],
    ),
    "pin": (
        lambda rng: f"{rng.randrange(1000, 10**6)}",
        [
            "PIN is {}",
            "my PIN: {}",
            "the card's pin is {}",
            "the door code is {}",
            "alarm code: {}",
            "the PIN for the safe is {}",
        ],
    ),
    "api-key": (
        lambda rng: rng.choice([_pick(rng, ALNUM, 32), _pick(rng, HEX, 32), _pick(rng, URL64, 40).strip("-_")]),
        [
            'api_key = "{}"',
            "API_KEY={}",
            "apiKey: '{}',",
            "X-Api-Key: {}",
            "https://api.example.com/v1?api_key={}&q=1",
            "datadog_app_key: {}",
            '"accessKey" : "{}"',
            "--api-key {}",
            "the API key is {}",
            'os.environ["WEATHER_API_KEY"] = "{}"',
            "ALGOLIA_ADMIN_KEY={}",
        ],
    ),
    "secret": (
        lambda rng: rng.choice([_pick(rng, ALNUM, 40), _pick(rng, ALNUM + "!@#%^*", 50), _pick(rng, HEX, 64)]),
        [
            "SECRET_KEY='{}'",
            'client_secret: "{}"',
            "JWT_SECRET={}",
            'app.secret_key = "{}"',
            '  "webhookSecret": "{}"',
            "DJANGO_SECRET_KEY={}",
            "signing_secret={}",
        ],
    ),
    "token": (
        lambda rng: rng.choice([_pick(rng, ALNUM, 32), _pick(rng, HEX, 40), _pick(rng, URL64, 43).strip("-_")]),
        [
            "access_token={}",
            '"auth_token": "{}"',
            "TOKEN={}",
            "refreshToken: '{}'",
            "token: {}",
            "//registry.example.org/:_authToken={}",
            "--token={}",
            "bot_token = '{}'",
        ],
    ),
}


def _pem(rng: random.Random) -> tuple[str, str]:
    label = rng.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "])
    body = [_pick(rng, B64, 64) for _ in range(rng.randrange(2, 8))]
    edge = "-" * 5
    lines = [f"{edge}BEGIN {label}PRIVATE KEY{edge}", *body, f"{edge}END {label}PRIVATE KEY{edge}"]
    joined = rng.choice(["\n", "\\n", "\n    "]).join(lines)
    return rng.choice(["{}", 'key = """{}"""', '"private_key": "{}",', "id_rsa:\n{}\nend"]).format(joined), body[0]


def positives() -> list[tuple[str, str, str]]:
    rng = random.Random(20260301)
    out: list[tuple[str, str, str]] = []
    for kind, make in TOKENS.items():
        for around in rng.sample(AROUND, 8):
            secret = make(rng)
            out.append((kind, around.format(secret), secret))
    for kind, (make, lines) in NAMED.items():
        for turn in range(max(12, len(lines))):
            secret = make(rng)
            out.append((kind, lines[turn % len(lines)].format(secret), secret))
    for _ in range(12):
        line, secret = _pem(rng)
        out.append(("private-key", line, secret))
    return out


PLAIN = """
password = os.environ["DB_PASSWORD"]
password: string
token: str
def login(user: str, password: str) -> None:
api_key = "<your-api-key>"
API_KEY=${API_KEY}
SECRET_KEY=$SECRET_KEY
password: changeme
password = "xxxxxxxxxxxx"
password: ********
api_key: YOUR_API_KEY
token = get_token()
token = response.json()["token"]
const token = await getAccessToken(user);
password = config.password
password = settings.DB_PASSWORD
self.password = password
this.token = token;
if password == confirm_password:
password = getpass.getpass("Password: ")
the password is wrong
the password is stored hashed
your password must be at least 12 characters long
password is required
The token is invalid or has expired
the token expires after 3600 seconds
a secret is something you keep
the key is to keep it simple
The secret to good soup is patience
The password is never logged.
We rotate the API key every 90 days
the API key is read from the environment
the api key is invalid
the token was revoked on 2026-03-01
password reset e-mails are sent by the worker
Forgot password? Click here
The passphrase is optional
max_tokens: 4096
max_tokens=2048
token_count = 18234
num_tokens: 512
tokens = tokenizer.encode(text)
pad_token: "<pad>"
eos_token = "</s>"
next_page_token: CAUQAA
primary_key = "user_id"
foreign_key: orders.user_id
cache_key = f"user:{user_id}"
sort_key: created_at#2026
partition_key = "tenant42"
public_key = "ssh-ed25519"
key: value
keyboard = "qwerty"
secretName: db-credentials
secretKeyRef:
  name: postgres-secret
  key: password
secret: my-app-secrets
password_file: /run/secrets/db_password
token_url = "https://auth.example.com/oauth2/token"
private_key: ~/.ssh/id_ed25519
private_key_path = "/etc/ssl/private/server.key"
ssh -i ~/.ssh/id_rsa user@example.com
https://example.com/login?next=/account
https://user@example.com/path
git@github.com:org/repo.git
http://localhost:8080/@scope/package
https://example.com:443/img/logo@2x.png
postgres://user:password@localhost/db
postgres://${DB_USER}:${DB_PASS}@${DB_HOST}/main
mysql://<user>:<password>@<host>/db
redis://localhost:6379/0
mailto:john.doe@example.com
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer {token}
headers["Authorization"] = f"Bearer {token}"
use a Bearer token in the header
bearer authentication is required
basic auth is disabled
--password-stdin
docker login --username bob --password-stdin
mysql -u root -p
--token $GITHUB_TOKEN
--api-key "$API_KEY"
pin 13 drives the led
GPIO pin 4 and pin 17
pin the version to 3.11
PIN is required
Enter your PIN
error code is 404
exit code: 137
status code 2019
the code is in src/main.rs
country code: +43
zip code is 8010
the access code is in the safe
combination of 12 and 14
password hashing uses argon2id
password sha256 digests are weak
token v2 is the default
secret v1beta1 was removed
oauth2 token endpoint
JWT tokens have three parts
Use sk- prefixed keys
keys starting with ghp_ are personal tokens
AKIA is the prefix of long-term keys
look for -----BEGIN RSA PRIVATE KEY----- in the logs
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
type="password"
<input type="password" name="password" placeholder="Enter password">
<label for="password">Password</label>
"password": "string"
"password": {"type": "string", "minLength": 8}
password VARCHAR(255) NOT NULL
password: z.string().min(8)
password = Column(String(128))
password: Optional[SecretStr] = None
token: Token | None = None
secret: bytes = b""
password=None
password=""
password: null
token = "" if not user else user.token
assert response.json()["detail"] == "Invalid token"
raise AuthError("password is incorrect")
throw new Error("Missing API key: set OPENAI_API_KEY");
console.log("token:", token)
print(f"token: {token}")
api_key=os.getenv("OPENAI_API_KEY", "")
apiKey: process.env.OPENAI_API_KEY,
password: process.env.DB_PASSWORD!
password: ${{ secrets.DB_PASSWORD }}
token: ${{ github.token }}
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
password: "{{ vault_db_password }}"
password: !vault |
password = var.db_password
secret = data.aws_secretsmanager_secret.db.id
api_key: op://vault/item/field
sk-learn-contrib-imbalanced-ensemble
class="sk-fading-circle-dot-large"
npm_config_registry_override_setting
hf_hub_download_with_retries_and_cache
The secretary will send the token of appreciation
he passed the test with a key insight
keep the secret: never tell anyone
passwordless login with passkeys
the password manager is Bitwarden
see docs/password-policy.md
test_password_reset_token_expires_after_one_hour
PasswordResetTokenGenerator
AccessTokenRefreshInterceptor
authTokenProviderFactoryBean
my-very-long-kebab-case-component-name-for-token-input
com.example.security.token.JwtTokenProvider2
password = input("Password: ")
password = prompt("pw")
password=password
password=pw
token=token
PASSWORD=$1
password: "{{password}}"
password: "%s"
password='%(password)s'
user:password@example.com
api_key = None
API_KEY = "test"
secret = secrets.token_hex(32)
token = secrets.token_urlsafe(16)
token = jwt.encode(payload, SECRET, algorithm="HS256")
const password = req.body.password;
const { password } = req.body;
const secret = crypto.randomBytes(32).toString("hex")
password_hash = hashlib.sha256(password.encode()).hexdigest()
password_digest: $2b$12$KIXQ4YQ0Zr0b0e5o5J5o5uJ5o5J5o5J5o5J5o5J5o5J5o5J5o5J5o
password = "$2b$12$KIXQ4YQ0Zr0b0e5o5J5o5uJ5o5J5o5J5o5J5o5J5o5J5o5J5o5J5o"
The password is 12 characters long
The password is too short
the password is in 1Password
the password is at the bottom of the router
the password is case-sensitive
the wifi password is on the fridge
the password is the same as last year
my password is not working
the password is base64-encoded
the password is hashed with sha256
the password is stored in AWS Secrets Manager
The token is a UUID v4
the token is signed with HS256
token is 32 bytes
the token is passed as X-Auth-Token
the secret is mounted at /run/secrets/db
the api key is set via OPENAI_API_KEY
The key is the user's email
The secret is rotated every 30d
token: 550e8400-e29b-41d4-a716-446655440000
session_id = 550e8400-e29b-41d4-a716-446655440000
trace_id: 4bf92f3577b34da6a3ce929d0e0e4736
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
md5: 5d41402abc4b2a76b9719d911017c592
sha1 = da39a3ee5e6b4b0d3255bfef95601890afd80709
checksum=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
css-1q2w3e4r5t6y7u8i9o0p
https://cdn.example.com/app.4f3c2b1a9d8e7f60.js
https://docs.google.com/document/d/1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdef/edit
https://example.com/reset?token=<token>
https://example.com/a?key=name&sort=asc
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7v1a2b3c4d5e6f7g8h9i0 user@host
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJk2l3m4n5o6p7q8r9s0t1u2v3w4x5y6z7A8B9C0D user@host
-----BEGIN RSA PRIVATE KEY-----
...
-----END RSA PRIVATE KEY-----
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
AKIAXXXXXXXXXXXXXXXX
OPENAI_API_KEY=sk-...
ANTHROPIC_API_KEY=your-key-here
api_key="YOUR_API_KEY_HERE"
token: "<your-token>"
password: "<password>"
Set the `API_KEY` environment variable
Run `export API_KEY=...` first
primaryKey: true
keyPath: "id"
accessKey="s"
<button accesskey="s">
hotkey: ctrl+shift+p
api_key: str = Field(..., env="API_KEY")
password: SecretStr = Field(default=..., min_length=8)
password TEXT NOT NULL,
ALTER TABLE users ADD COLUMN password VARCHAR(255)
if (!password || password.length < 8)
password?.length
expect(password).toBe("secret")
token_type: bearer
"token_type": "Bearer",
grant_type=client_credentials
scope=openid profile email
csrf_token = form.csrf_token.data
{% csrf_token %}
<input type="hidden" name="csrf_token" value="{{ csrf_token() }}">
Authorization: Bearer YOUR_TOKEN
Authorization: Basic <credentials>
Authorization: Bearer ${TOKEN}
"Authorization": `Bearer ${token}`
const auth = "Bearer " + token
tokens per second: 1234
tokens: 15234
Total tokens: 128k
context window of 200000 tokens
prompt_tokens=1532 completion_tokens=201
tokenizer: cl100k_base
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
hf_model = "sentence-transformers/all-MiniLM-L6-v2"
secret santa is on 2024-12-20
key takeaways: 1) ship 2) learn
The key difference is O(n) vs O(n^2)
keyboard shortcut: Ctrl+K
"key": "Ctrl+Shift+K"
key=lambda x: x[1]
sorted(items, key=itemgetter(1))
cache_key=user:123:profile
Redis key: session:12345
partition key is tenant_id
s3 key: backups/2024/01/db.dump
public key: 04a1b2c3d4e5f6
ssh key fingerprint SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
license: MIT
author = "John Doe <john@example.com>"
npm install @types/node@18.0.0
pip install requests==2.31.0
Version 3.11.7 (main, Dec  4 2023)
Call me at 555-0123 after 1800
room 4921
code 404
Order number 99812345
pin: 7
zip code 94107
error code: 10054
area code is 0316
The exit code is 1
area code: 0316
product code: 4411
discount code is SAVE20
source code is 10000 lines
the code is 1200 lines long
password reset code expires in 10 minutes
Password1 is a bad password
the default password policy requires 12+ chars
password must match ^[A-Za-z0-9]{8,}$
passwords: 12345 leaked in breach
login: bob
login as: root
user login at 10:45
log in with SSO/SAML2
credentials are in ~/.aws/credentials
credentials: same-origin
credentials: "include"
withCredentials: true
auth: { type: "oauth2" }
basic auth with username:password
http://localhost:3000
redis://:@localhost:6379
postgres://postgres:postgres@localhost:5432/test
https://username:password@proxy.example.com:8080
amqp://guest:guest@localhost
image: redis:7-alpine@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
resolved "https://registry.yarnpkg.com/lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3df370c3d6911c"
  integrity sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==
font: url(data:font/woff2;base64,d09GMgABAAAAAAUoAA0AAAAACZgAAATTAAEAAAAAAAAAAAAA)
arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf
projects/123/secrets/my-secret/versions/latest
secret: projects/my-proj/secrets/db-pass
keyvault: https://myvault.vault.azure.net/secrets/dbpass/ec96f02080254f109c51a1f14cdb1931
SecretId='prod/db/password'
getSecret("prod/db/password")
passwordInput.value = ""
passwordField.setText(user.getPassword());
String token = request.getHeader("X-Auth-Token");
var token = localStorage.getItem('access_token');
token := os.Getenv("GITHUB_TOKEN")
let token = env::var("API_TOKEN")?;
$password = $_POST['password'];
$token = Str::random(60);
password = PasswordField("Password", validators=[DataRequired()])
@password = params[:password]
password: user.password_v2
token = auth_token_2
secretKey = keyGenerator1
const apiKey = config.apiKeys[0]
self.api_key = api_key or os.environ.get("KEY")
private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
"secretOrKey": "jwtConstants.secret"
token.split(".")[1]
console.error("Bad token: " + err)
logger.info("password changed for user 12345")
TypeError: token: expected str, got NoneType
test("rejects wrong password: returns 401")
it('token: refreshes after 3600s')
feat(auth): token refresh (#1234)
fix: password reset (closes #42)
docs: secret rotation 2024-06-01
""".strip().splitlines()


def negatives() -> list[tuple[str, str]]:
    rng = random.Random(20260302)
    out = [("plain", line) for line in PLAIN]
    for turn in range(12):
        digest = hashlib.sha256(str(turn).encode()).hexdigest()
        integrity = base64.b64encode(hashlib.sha512(str(turn).encode()).digest()).decode()
        blob = base64.b64encode(rng.randbytes(90)).decode()
        out += [
            ("sha", f"commit {digest[:40]}"),
            ("sha", f"git checkout {digest[:12]} && make"),
            ("digest", f"sha256:{digest}"),
            ("digest", f"image: registry.example.com/app@sha256:{digest}"),
            ("uuid", f"request_id={_uuid(rng)} status=200"),
            ("uuid", f'"id": "{_uuid(rng)}",'),
            ("integrity", f'      "integrity": "sha512-{integrity}",'),
            ("lock", f'    {{file = "pkg-1.{turn}-py3-none-any.whl", hash = "sha256:{digest}"}},'),
            ("go-sum", f"golang.org/x/net v0.{turn}.0 h1:{integrity[:43]}="),
            ("image", f"![logo](data:image/png;base64,{blob})"),
            (
                "minified",
                f"!function(e,t){{var n=e[{turn}],r=t.key||n;return r.token?r.token:{turn}}}(window,document);",
            ),
            (
                "log",
                f'10.0.0.{turn} - - [01/Mar/2026:10:00:00] "GET /app.{digest[:8]}.js HTTP/1.1" 200 {turn * 311}',
            ),
        ]
    return out
