"""The table of tokens that are known by how they begin, each with its source, compiled into RE2 alternations."""

from collections.abc import Iterable, Iterator

import msgspec
import re2

from baton.engine.text.secrets.spans import WORD, SecretSpan, looks_random

_GITLEAKS = "https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml"
_B64 = r"[A-Za-z0-9+/=_-]"
_ID = r"[A-Za-z0-9_-]"
_DOTTED = r"[A-Za-z0-9_.=+/-]"
_ALNUM = r"[A-Za-z0-9]"


class TokenKind(msgspec.Struct, frozen=True):
    """One kind of token.

    Attributes:
        name: What the mask says.
        prefixes: The literals that it begins with, separated by spaces; case counts.
        body: The class of characters after the prefix.
        source: The page that documents the prefix.
        least: Fewest characters after the prefix; at the end of a text one is enough, since it may have been cut there.
        common: Whether ordinary words begin so as well (`sk-learn`, `npm_config_cache`): the rest must look random.
    """

    name: str
    prefixes: str
    body: str
    source: str
    least: int = 6
    common: bool = False


_K = TokenKind
TOKENS: tuple[TokenKind, ...] = (
    _K(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"[A-Za-z0-9_]",
        "https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/",
    ),
    _K(
        "github-pat",
        "github_pat_",
        r"[A-Za-z0-9_]",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
    _K(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glptt- glcbt- gloas- glft- glimt- glagent- glsoat- glffct- glwt- GR1348941",
        r"[A-Za-z0-9_.=-]",
        "https://docs.gitlab.com/security/tokens/#token-prefixes",
    ),
    _K(
        "bitbucket-token",
        "ATBB ATCTT3 BBDC-",
        _B64,
        "https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/",
        least=12,
    ),
    _K("atlassian-token", "ATATT3", _B64, _GITLEAKS),
    _K("npm-token", "npm_", _ALNUM, "https://docs.npmjs.com/about-access-tokens", 10, common=True),
    _K("pypi-token", "pypi-", _ID, "https://docs.pypi.org/api/secrets/", 16, common=True),
    _K("rubygems-token", "rubygems_", _ALNUM, "https://guides.rubygems.org/api-key-scopes/", 10, common=True),
    _K(
        "crates-token",
        "cio",
        _ALNUM,
        "https://github.com/rust-lang/crates.io/blob/main/src/util/token.rs",
        32,
        common=True,
    ),
    _K("nuget-key", "oy2", r"[a-z0-9]", "https://learn.microsoft.com/nuget/nuget-org/scoped-api-keys", 40, common=True),
    _K("clojars-token", "CLOJARS_", _ALNUM, "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens", 16),
    _K(
        "vault-token",
        "hvs. hvb. hvr.",
        _ID,
        "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes",
    ),
    _K(
        "hugging-face-token", "hf_ api_org_", _ALNUM, "https://huggingface.co/docs/hub/security-tokens", 10, common=True
    ),
    _K(
        "sendgrid-key",
        "SG.",
        r"[A-Za-z0-9_.-]",
        "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
        16,
        common=True,
    ),
    _K(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
        r"[A-Za-z0-9%.-]",
        "https://docs.slack.dev/authentication/tokens",
    ),
    _K("google-key", "AIza", _ID, "https://cloud.google.com/docs/authentication/api-keys", 16),
    _K("google-token", "ya29.", r"[A-Za-z0-9_.-]", "https://cloud.google.com/docs/authentication/token-types"),
    _K("google-secret", "GOCSPX-", _ID, "https://developers.google.com/identity/protocols/oauth2"),
    _K("google-token", "1//0", _ID, "https://developers.google.com/identity/protocols/oauth2", 20),
    _K(
        "aws-key",
        "AKIA ASIA ABIA ACCA",
        r"[A-Z0-9]",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
        16,
    ),
    _K("aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS", _B64, _GITLEAKS),
    _K("aws-bedrock-key", "bedrock-api-key-", _B64, _GITLEAKS),
    _K("alibaba-key", "LTAI", _ALNUM, _GITLEAKS, 12),
    _K("tencent-key", "AKID", _ALNUM, "https://www.tencentcloud.com/document/product/598/34228", 28),
    _K(
        "sk-key",
        "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf-",
        _ID,
        "https://platform.openai.com/docs/api-reference/authentication",
    ),
    _K("sk-key", "sk-", _ID, "https://platform.openai.com/docs/api-reference/authentication", 16, common=True),
    _K("groq-key", "gsk_", _ALNUM, "https://console.groq.com/docs/quickstart", 16),
    _K("xai-key", "xai-", _ALNUM, "https://docs.x.ai/docs/tutorial", 16, common=True),
    _K("perplexity-key", "pplx-", _ALNUM, _GITLEAKS, 16),
    _K("replicate-token", "r8_", _ALNUM, "https://replicate.com/docs/reference/http#authentication", 16, common=True),
    _K("nvidia-key", "nvapi-", _ID, "https://docs.nvidia.com/nim/", 16),
    _K("langsmith-key", "lsv2_pt_ lsv2_sk_", r"[A-Za-z0-9_]", "https://docs.smith.langchain.com/", 8),
    _K("pinecone-key", "pcsk_", r"[A-Za-z0-9_]", "https://docs.pinecone.io/guides/projects/manage-api-keys", 8),
    _K("tavily-key", "tvly-", _ID, "https://docs.tavily.com/documentation/api-reference/introduction", 10),
    _K("apify-token", "apify_api_", _ALNUM, "https://docs.apify.com/platform/integrations/api", 8),
    _K("posthog-key", "phc_ phx_ phs_", _ALNUM, "https://posthog.com/docs/api", 20),
    _K(
        "stripe-key",
        "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ rk_prod_ sk_prod_ whsec_",
        r"[A-Za-z0-9+/=_]",
        "https://docs.stripe.com/keys",
    ),
    _K(
        "square-token",
        "sq0atp- sq0csp- sq0idp- sq0idb-",
        _ID,
        "https://developer.squareup.com/docs/build-basics/access-tokens",
    ),
    _K("square-token", "EAAA", _ID, _GITLEAKS, 22, common=True),
    _K("facebook-token", "EAAC EAAB EAAM EAAG", _ALNUM, _GITLEAKS, 30, common=True),
    _K(
        "shopify-token",
        "shpat_ shpca_ shppa_ shpss_ shpua_",
        r"[A-Za-z0-9]",
        "https://shopify.dev/docs/apps/build/authentication-authorization",
    ),
    _K(
        "paypal-token",
        "access_token$production$ access_token$sandbox$",
        _B64,
        "https://developer.paypal.com/braintree/docs",
    ),
    _K("flutterwave-key", "FLWSECK_TEST- FLWSECK-", _ID, _GITLEAKS),
    _K("plaid-token", "access-sandbox- access-development- access-production-", _ID, _GITLEAKS),
    _K(
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"[A-Za-z0-9]",
        "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
    ),
    _K("fly-token", "fm1r_ fm1a_ fm2_ fo1_", _B64, "https://fly.io/docs/security/tokens/", 8),
    _K(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.",
        r"[A-Za-z0-9_.-]",
        "https://docs.doppler.com/reference/auth-token-formats",
    ),
    _K("pulumi-token", "pul-", r"[a-f0-9]", _GITLEAKS, 20, common=True),
    _K("postman-key", "PMAK- PMAT-", _ID, _GITLEAKS),
    _K("notion-token", "ntn_", _ALNUM, "https://developers.notion.com/page/changelog", 10),
    _K("notion-token", "secret_", _ALNUM, "https://developers.notion.com/docs/authorization", 32, common=True),
    _K("dropbox-token", "sl.", _B64, _GITLEAKS, 100, common=True),
    _K("clickhouse-key", "4b1d", _ALNUM, _GITLEAKS, 38, common=True),
    _K("figma-token", "figd_ figu_ figo_ figdr_", _ID, "https://www.figma.com/developers/api#authentication", 8),
    _K(
        "grafana-token",
        "glsa_ glc_",
        _B64,
        "https://grafana.com/docs/grafana/latest/administration/service-accounts/",
        8,
    ),
    _K("sentry-token", "sntrys_ sntryu_", _DOTTED, "https://docs.sentry.io/account/auth-tokens/"),
    _K("heroku-key", "HRKU-", _ID, "https://devcenter.heroku.com/articles/authentication"),
    _K("netlify-token", "nfp_ nfc_ nfo_ nfb_ nfu_", _ALNUM, "https://docs.netlify.com/api/get-started/", 10),
    _K("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", _ALNUM, "https://vercel.com/docs/rest-api", 16),
    _K(
        "supabase-token",
        "sbp_ sb_secret_ sb_publishable_",
        r"[A-Za-z0-9_-]",
        "https://supabase.com/docs/guides/api/api-keys",
        8,
    ),
    _K(
        "planetscale-token",
        "pscale_tkn_ pscale_pw_ pscale_oauth_ pscale_api_",
        r"[A-Za-z0-9_.=-]",
        "https://planetscale.com/docs/concepts/service-tokens",
    ),
    _K("docker-token", "dckr_pat_ dckr_oat_", _ID, "https://docs.docker.com/security/for-developers/access-tokens/"),
    _K("linear-key", "lin_api_ lin_oauth_ lin_wh_", _ALNUM, "https://linear.app/developers/graphql"),
    _K(
        "new-relic-key",
        "NRAK- NRAA- NRII- NRIQ- NRJS- NRRA-",
        _ID,
        "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/",
    ),
    _K("databricks-token", "dapi dose dkea", r"[a-f0-9-]", "https://docs.databricks.com/aws/en/dev-tools/auth/pat", 28),
    _K("tailscale-key", "tskey-", _ID, "https://tailscale.com/kb/1085/auth-keys"),
    _K(
        "cloudflare-token",
        "cfut_ cfat_ cfk_",
        _ALNUM,
        "https://developers.cloudflare.com/fundamentals/api/get-started/create-token/",
        16,
    ),
    _K("cloudflare-key", "v1.0-", r"[a-f0-9-]", _GITLEAKS, 24),
    _K("contentful-token", "CFPAT-", _ID, "https://www.contentful.com/developers/docs/references/authentication/"),
    _K(
        "dynatrace-token",
        "dt0c01. dt0s01. dt0s02. dt0s08. dt0s16.",
        r"[A-Z0-9.]",
        "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens",
    ),
    _K("easypost-key", "EZAK EZTK", _ALNUM, _GITLEAKS, 40),
    _K("brevo-key", "xkeysib- xsmtpsib-", _ID, "https://developers.brevo.com/docs/getting-started"),
    _K("resend-key", "re_", r"[A-Za-z0-9_]", "https://resend.com/docs/api-reference/introduction", 24, common=True),
    _K("prefect-key", "pnu_ pnb_", _ALNUM, _GITLEAKS, 16),
    _K("readme-key", "rdme_", r"[a-z0-9]", _GITLEAKS, 16),
    _K("scalingo-token", "tk-us-", _ID, _GITLEAKS, 16),
    _K("shippo-token", "shippo_live_ shippo_test_", _ALNUM, _GITLEAKS),
    _K(
        "sonar-token",
        "sqp_ squ_ sqa_",
        r"[a-f0-9]",
        "https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens/",
        20,
    ),
    _K(
        "sourcegraph-token",
        "sgp_",
        r"[a-zA-Z0-9_]",
        "https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token",
        16,
    ),
    _K("typeform-token", "tfp_", r"[A-Za-z0-9_.=-]", _GITLEAKS, 20),
    _K("duffel-token", "duffel_live_ duffel_test_", _ID, _GITLEAKS),
    _K("frameio-token", "fio-u-", _ID, _GITLEAKS),
    _K("infracost-key", "ico-", _ALNUM, _GITLEAKS, 24, common=True),
    _K("circleci-token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9_]", "https://circleci.com/docs/managing-api-tokens/"),
    _K("buildkite-token", "bkua_ bkct_ bkat_", _ALNUM, "https://buildkite.com/docs/apis/managing-api-tokens", 12),
    _K("neon-key", "napi_", _ALNUM, "https://neon.com/docs/manage/api-keys", 16),
    _K("mongodb-secret", "mdb_sa_sk_", _ID, "https://www.mongodb.com/docs/atlas/configure-api-access/"),
    _K("render-key", "rnd_", _ALNUM, "https://render.com/docs/api", 16, common=True),
    _K("aiven-secret", "AVNS_", _ID, "https://aiven.io/docs/platform", 8),
    _K("artifactory-key", "AKCp", _ALNUM, _GITLEAKS, 20),
    _K("artifactory-token", "cmVmd", _ALNUM, _GITLEAKS, 40),
    _K(
        "hubspot-token",
        "pat-na1- pat-na2- pat-eu1-",
        _ID,
        "https://developers.hubspot.com/docs/apps/legacy-apps/private-apps/overview",
        8,
    ),
    _K("1password-token", "ops_eyJ", _B64, "https://developer.1password.com/docs/service-accounts/security/"),
    _K("openshift-token", "sha256~", _ID, _GITLEAKS),
    _K("adobe-secret", "p8e-", _ALNUM, _GITLEAKS, 20),
    _K("defined-networking-token", "dnkey-", _ID, _GITLEAKS, 16),
    _K("ory-token", "ory_at_ ory_rt_ ory_st_ ory_pat_ ory_apikey_", r"[A-Za-z0-9_.-]", "https://www.ory.sh/docs/"),
    _K("zuplo-key", "zpka_", r"[A-Za-z0-9_]", "https://zuplo.com/docs/articles/api-key-leak-detection", 10),
    _K("age-key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", r"[A-Z0-9]", "https://github.com/C2SP/C2SP/blob/main/age.md"),
    _K(
        "openssh-key",
        "b3BlbnNzaC1rZXktdjE",
        r"[A-Za-z0-9+/=\s]",
        "https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key",
    ),
    _K("bitcoin-key", "xprv", _ALNUM, "https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki", 60),
    # Of a JSON Web Token: base64 of `{"alg`, `{"typ`, `{"kid`, `{"enc`, `{"x5t`, `{"jku`, `{"cty`.
    _K(
        "jwt",
        "eyJhbGci eyJ0eXAi eyJraWQi eyJlbmMi eyJ4NXQ eyJqa3Ui eyJjdHki",
        r"[A-Za-z0-9_.=-]",
        "https://datatracker.ietf.org/doc/html/rfc7519",
    ),
    _K(
        "mapbox-token",
        "pk.eyJ sk.eyJ tk.eyJ",
        r"[A-Za-z0-9_.=-]",
        "https://docs.mapbox.com/help/glossary/access-token/",
    ),
    _K("baton-token", "baton_", r"[0-9a-f_]", "docs/decisions/0006-the-team-server.md", 13, common=True),
)
"""Vendors' prefixes. Where a vendor documents none, the source is the rule of gitleaks (MIT) that names it."""

_SHAPES: tuple[tuple[str, str, str], ...] = (
    # A name, a pattern whose first group is the secret, the source.
    ("aws-secret", r"\b(?:AKIA|ASIA)[A-Z0-9]{12,20}[\s,:;|/\"']{1,4}([A-Za-z0-9/+]{40})", "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html"),
    ("aws-signature", r"(?i:\bX-Amz-Signature\s*[=:]\s*)([0-9A-Fa-f]{6,})", "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html"),
    ("webhook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+%-]+)", "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
    ("webhook", r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/([0-9]+/?[A-Za-z0-9_-]*)", "https://discord.com/developers/docs/resources/webhook"),
    ("webhook", r"webhook\.office(?:365)?\.com/webhookb2/([^\s\"'`<>]+)", "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/"),
    ("webhook", r"outlook\.office(?:365)?\.com/webhook/([^\s\"'`<>]+)", "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/"),
    ("webhook", r"hooks\.zapier\.com/hooks/(?:catch|standard)/([A-Za-z0-9/_-]+)", "https://help.zapier.com/hc/en-us/articles/8496288690317"),
    ("webhook", r"maker\.ifttt\.com/trigger/[^\s/]+/(?:json/)?with/key/([A-Za-z0-9_/-]+)", "https://ifttt.com/maker_webhooks"),
    ("webhook", r"/hooks/([a-z0-9]{26}|[A-Za-z0-9]{17}/[A-Za-z0-9]{20,})\b", "https://developers.mattermost.com/integrate/webhooks/incoming/"),
    ("telegram-token", r"(?:^|[^0-9])([0-9]{8,11}:A[A-Za-z0-9_-]{20,})", "https://core.telegram.org/bots/api#authorizing-your-bot"),
    ("telegram-token", r"api\.telegram\.org/(?:file/)?bot([0-9]{6,}:[A-Za-z0-9_-]+)", "https://core.telegram.org/bots/api#authorizing-your-bot"),
    ("discord-token", r"\b([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,})", _GITLEAKS),
    ("vault-token", r"(?:^|[\s=:\"'`(,])([sbr]\.[A-Za-z0-9]{24})\b", "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes"),
    ("twilio-key", r"(?:^|[^A-Za-z0-9])(SK[0-9a-f]{32})\b", "https://www.twilio.com/docs/iam/api-keys"),
    ("mailgun-key", r"(?:^|[^A-Za-z0-9])(key-[0-9a-f]{32})\b", _GITLEAKS),
    ("mailgun-key", r"\b([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})\b", _GITLEAKS),
    ("mailchimp-key", r"\b([0-9a-f]{32}-us[0-9]{1,2})\b", _GITLEAKS),
    ("terraform-token", r"\b([A-Za-z0-9]{10,}\.atlasv1\.[A-Za-z0-9_=-]+)", "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens"),
    ("airtable-token", r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{16,})", "https://airtable.com/developers/web/guides/personal-access-tokens"),
    ("azure-secret", r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{20,})", _GITLEAKS),
    ("azure-token", r"\b([A-Za-z0-9]{30,}JQQJ9[A-Za-z0-9]{8,})", "https://learn.microsoft.com/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate"),
    ("jwt", r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)", "https://datatracker.ietf.org/doc/html/rfc7519"),
    ("octopus-key", r"\b(API-[A-Z0-9]{26,})\b", _GITLEAKS),
    ("1password-key", r"\b(A3-[A-Z0-9]{6}-[A-Z0-9-]{20,})", _GITLEAKS),
    ("launchdarkly-key", r"\b((?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b", "https://launchdarkly.com/docs/home/account/environment/keys"),
    # Beginnings at the end of a text, which somebody cut or which is the last chunk of a stream so far.
    ("twilio-key", r"(?:^|[^A-Za-z0-9])(SK[0-9a-f]{6,})\z", "https://www.twilio.com/docs/iam/api-keys"),
    ("mailgun-key", r"(?:^|[^A-Za-z0-9])(key-[0-9a-f]{6,})\z", _GITLEAKS),
    ("telegram-token", r"(?:^|[^0-9])([0-9]{8,11}:A[A-Za-z0-9_-]*)\z", "https://core.telegram.org/bots/api#authorizing-your-bot"),
    ("vault-token", r"(?:^|[\s=:\"'`(,])([sbr]\.[A-Za-z0-9]{4,})\z", "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes"),
    ("discord-token", r"\b([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]*)\z", _GITLEAKS),
    ("azure-secret", r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]*)\z", _GITLEAKS),
    ("octopus-key", r"\b(API-[A-Z0-9]{8,})\z", _GITLEAKS),
    ("airtable-token", r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]*)\z", "https://airtable.com/developers/web/guides/personal-access-tokens"),
    ("launchdarkly-key", r"\b((?:sdk|mob)-[0-9a-f]{8}-?[0-9a-f-]*)\z", "https://launchdarkly.com/docs/home/account/environment/keys"),
    ("jwt", r"(eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*)\z", "https://datatracker.ietf.org/doc/html/rfc7519"),
    ("asana-token", r"\b([0-9]/[0-9]{12,}(?:/[0-9]{12,})?:[0-9a-f]{32})\b", "https://developers.asana.com/docs/personal-access-token"),
)  # fmt: skip


def _by_length(kinds: Iterable[TokenKind]) -> list[tuple[str, TokenKind]]:
    """List prefixes with their kinds, the longest first: RE2 and the look-up below take the first that fits."""
    pairs = [(prefix, kind) for kind in kinds for prefix in kind.prefixes.split()]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


_PREFIXES = _by_length(TOKENS)
_BY_PREFIX = [(prefix.encode(), kind) for prefix, kind in _PREFIXES]


def _alternation(*, common: bool) -> str:
    return "|".join(f"{re2.escape(prefix)}{kind.body}+" for prefix, kind in _PREFIXES if kind.common is common)


# Two alternations: a common prefix that is refused must not swallow a certain one that stands behind it (`task-ghp_…`).
_CERTAIN = _alternation(common=False)
_COMMON = _alternation(common=True)
_FORMS = "|".join(pattern for _, pattern, _ in _SHAPES)
TRIGGERS = {"certain": f"(?:{_CERTAIN})", "common": f"(?:{_COMMON})", "forms": f"(?:{_FORMS})"}
"""For the pre-filter: one pattern per alternation."""
_certain = re2.compile(_CERTAIN.encode())
_common = re2.compile(_COMMON.encode())
_forms = re2.compile(_FORMS.encode())
_LEAST_AT_END = 4
_HEX_AT_END = 6


def find(data: bytes, which: str) -> Iterator[SecretSpan]:
    """Find the tokens of one alternation in a text."""
    if which == "forms":
        for found in _forms.finditer(data):
            group = next(number for number in range(1, len(_SHAPES) + 1) if found.start(number) >= 0)
            yield SecretSpan(found.start(group), found.end(group), _SHAPES[group - 1][0], WORD)
        return
    for found in (_certain if which == "certain" else _common).finditer(data):
        start, end = found.span()
        prefix, kind = _kind(data[start : start + 32])
        if _is_token(kind, data, start, start + len(prefix), end):
            yield SecretSpan(start, end, kind.name, WORD)


def _kind(beginning: bytes) -> tuple[bytes, TokenKind]:
    return next(pair for pair in _BY_PREFIX if beginning.startswith(pair[0]))


def _is_token(kind: TokenKind, data: bytes, start: int, body: int, end: int) -> bool:
    cut = end == len(data)
    if not kind.common:
        return end - body >= kind.least or cut
    glued = start > 0 and data[start - 1 : start].isalnum()
    text = data[body:end]
    run = max(re2.split(rb"[^A-Za-z0-9]+", text), key=len)
    if glued:
        return len(run) >= kind.least and looks_random(run)
    least = min(kind.least, 16)
    if cut and len(run) >= _HEX_AT_END and any(byte < b"A"[0] for byte in run):
        return True
    return len(run) >= least or (len(run) >= (_LEAST_AT_END if cut else 8) and looks_random(run))
