package redact_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/redact"
)

// MW3: further forms in which secrets come. Each text holds SECRET values, of which
// nothing may be left, in the text itself and as it stands in JSON, twice nested, in an
// error chain and in a query.
func TestNoFormOfASecretIsLeft(t *testing.T) {
	const hex = "9f86d081884c7d659a2feaa0c55ad015"
	const b64 = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	tests := []struct{ name, text, secret string }{
		{"JWT", "token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U expired", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"},
		{"JWE", "eyJhbGciOiJSU0EtT0FFUCJ9.OKOawDo13gRp2ojaHV7LFpZcgV7T6DVZKTyKOMTYUmKoTCVJRgckCL9kiMT03JGe.48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6ji.XFBoMYUZodetZdvTiFvSkQ", "XFBoMYUZodetZdvTiFvSkQ"},
		{"Slack xoxb", "bad token xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", "AbCdEfGhIjKlMnOpQrStUvWx"},
		{"Slack xapp", "xapp-1-A0123456789-1234567890123-" + hex, hex},
		{"Slack webhook", "POST https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX: 404", "XXXXXXXXXXXXXXXXXXXXXXXX"},
		{"Google AIza", "key AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe is invalid", "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe"},
		{"Google OAuth", "ya29.a0AfH6SMBx" + hex, hex},
		{"Google client secret", "GOCSPX-" + hex, hex},
		{"GitHub github_pat_", "github_pat_11ABCDEFG0abcdefghijkl_MnOpQrStUvWxYz0123456789abcdefghijklmnopqrstuvwxyz0123", "MnOpQrStUvWxYz0123456789"},
		{"GitHub ghs_", "remote: ghs_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912E7710c838347Ae178B4a"},
		{"GitLab", "glpat-ABCDEFGHIJ0123456789", "ABCDEFGHIJ0123456789"},
		{"npm", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789"},
		{"PyPI", "pypi-AgEIcHlwaS5vcmcCJDg4" + hex, hex},
		{"Hugging Face", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "abcdefghijklmnopqrstuvwxyzABCDEFGH"},
		{"Stripe", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"},
		{"Stripe webhook", "whsec_" + hex, hex},
		{"SendGrid", "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", "TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr"},
		{"OpenAI", "sk-proj-abcdefghijklmnop_qrstuvwxyz0123", "abcdefghijklmnop_qrstuvwxyz0123"},
		{"Anthropic", "sk-ant-api03-" + hex + "-" + hex, hex},
		{"DigitalOcean", "dop_v1_" + hex + hex, hex},
		{"Azure SAS", "https://acc.blob.core.windows.net/c/b?sv=2022-11-02&st=2026-01-01&se=2027-01-01&sr=b&sp=r&sig=" + url.QueryEscape(b64+"=") + "&x=1", url.QueryEscape(b64)},
		{"Azure connection string", "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=" + b64 + "==;EndpointSuffix=core.windows.net", b64},
		{"Azure service bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=" + b64 + "=", b64},
		{"SQL connection string", "Server=db;User Id=sa;Password=" + hex + ";Encrypt=true", hex},
		{"SQL Pwd", "Driver={x};Uid=sa;Pwd=" + hex + ";", hex},
		{"AWS pair in JSON", `{"AccessKeyId":"ASIAIOSFODNN7EXAMPLE","SecretAccessKey":"` + b64 + `","SessionToken":"` + hex + `"}`, b64},
		{"AWS session in JSON", `{"Credentials":{"SessionToken":"FwoGZXIvYXdzE` + hex + `//=="}}`, hex},
		{"AWS environment", "AWS_SECRET_ACCESS_KEY=" + b64, b64},
		{"AWS credentials file", "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = " + b64, b64},
		{"AWS signature", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=" + hex, hex},
		{"Basic auth", "Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l", "YWxhZGRpbjpvcGVuc2VzYW1l"},
		{"Basic in a sentence", "sent basic YWxhZGRpbjpvcGVuc2VzYW1l== to it", "YWxhZGRpbjpvcGVuc2VzYW1l"},
		{"a short Basic", `Authorization: Basic YTpi`, "YTpi"},
		{"Digest auth", `Authorization: Digest username="Mufasa", nonce="abc", response="` + hex + `"`, hex},
		{"Token scheme", "Authorization: Token " + hex, hex},
		{"Cookie", "Cookie: session=" + hex + "; theme=dark", hex},
		{"Set-Cookie", "Set-Cookie: sid=" + hex + "; Path=/; HttpOnly", hex},
		{"a header map of Go", `map[Authorization:[Bearer ` + hex + `] Cookie:[sid=` + hex + `] X-Api-Key:[` + hex + `]]`, hex},
		{"a header in JSON", `{"headers":{"Authorization":"Bearer ` + hex + `","Cookie":"sid=` + hex + `"}}`, hex},
		{"headers as a list in JSON", `{"headers":{"X-Api-Key":["` + hex + `"],"Authorization":["` + hex + `"]}}`, hex},
		{"curl", `curl -H 'X-Api-Key: ` + hex + `' -u ann:` + hex + ` https://x`, hex},
		{"curl with a flag", `curl --user ann:` + hex + ` https://x`, hex},
		{"a flag", "mysql --password=" + hex + " db", hex},
		{"a flag and its value", "tool --api-key " + hex + " --verbose", hex},
		{"a flag in quotes", `tool --token "` + hex + `"`, hex},
		{"a flag in a list", `["tool","--token","` + hex + `"]`, hex},
		{"PEM", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGl" + hex + "\noAoGCCqGSM49\n-----END EC PRIVATE KEY-----", hex},
		{"PEM of OpenSSH", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA" + hex + "\n" + hex + "\n-----END OPENSSH PRIVATE KEY-----\n", hex},
		{"PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF" + hex + "\n-----END PGP PRIVATE KEY BLOCK-----", hex},
		{"a URL with a password", "postgres://ann:" + hex + "@db:5432/x?sslmode=disable", hex},
		{"a URL with a token", "https://x-access-token:ghs_16C7e42F292c6912E7710c838347Ae178B4a@github.com/o/r.git", "16C7e42F292c6912E7710c838347Ae178B4a"},
		{"a URL with signs in its password", "redis://:p/" + hex + "@cache:6379/0", hex},
		{"a URL with a query", "https://x/y?access_token=" + hex + "&api_key=" + hex + "&q=1", hex},
		{"a URL with a fragment", "https://x/cb#access_token=" + hex + "&token_type=bearer", hex},
		{"a URL in a URL", "https://x/y?next=" + url.QueryEscape("https://z/?token="+hex), hex},
		{"GCS", "https://storage.googleapis.com/b/o?X-Goog-Signature=" + hex + "&X-Goog-Credential=" + hex, hex},
		{"CloudFront", "https://d.cloudfront.net/x?Signature=" + hex + "&Key-Pair-Id=APKAEXAMPLE", hex},
		{"YAML", "db:\n  password: " + hex + "\n  user: ann", hex},
		{"YAML of several lines", "private_key: |\n  -----BEGIN PRIVATE KEY-----\n  " + hex + "\n  -----END PRIVATE KEY-----\n", hex},
		{"TOML", `api_key = "` + hex + `"`, hex},
		{"XML", "<password>" + hex + "</password>", hex},
		{"a struct of Go", `{User:ann Password:` + hex + ` Token:` + hex + `}`, hex},
		{"a struct of Go, quoted", `config.DB{User:"ann", Password:"` + hex + `"}`, hex},
		{"camel case in JSON", `{"clientSecret":"` + hex + `","refreshToken":"` + hex + `","privateKey":"` + hex + `"}`, hex},
		{"a list in JSON", `{"tokens":["` + hex + `","` + hex + `"]}`, hex},
		{"a number in JSON", `{"password":12345678901234}`, "12345678901234"},
		{"single quotes", `{'password': '` + hex + `'}`, hex},
		{"npmrc", "//registry.npmjs.org/:_authToken=" + hex, hex},
		{"netrc", "machine x login ann password " + hex, hex},
		{"OAuth form", "grant_type=authorization_code&code=" + hex + "&client_secret=" + hex, hex},
		{"MCP", `{"authorization_token":"` + hex + `"}`, hex},
	}
	var set redact.Set
	for _, test := range tests {
		nested, _ := json.Marshal(test.text)
		twice, _ := json.Marshal(string(nested))
		member, _ := json.Marshal(map[string]any{"command": []string{"x", test.text}, "n": 1})
		for form, text := range map[string]string{
			"itself": test.text, "in JSON": string(nested), "in JSON in JSON": string(twice), "in a member": string(member),
			"in an error": fmt.Errorf("run: %w", fmt.Errorf("dial %q: refused", test.text)).Error(),
			"over lines":  "one\n" + test.text + "\ntwo",
		} {
			inner, _ := json.Marshal(test.secret)
			got := set.Hide(text)
			if strings.Contains(got, test.secret) || strings.Contains(got, strings.Trim(string(inner), `"`)) {
				t.Errorf("%s, %s: Hide(%s) leaves it: %s", test.name, form, text, got)
			}
		}
	}
}

// What is no secret stays, word for word.
func TestWhatIsNoSecretStays(t *testing.T) {
	var set redact.Set
	for _, text := range []string{
		`{"usage":{"input_tokens":12,"cache_creation_input_tokens":0},"stop_reason":"tool_use","max_tokens":100}`,
		"the basic operations of a bearer instrument, a cookie of authorization",
		"the flag --token is missing; --password was expected, --api-key too",
		"git@github.com:o/r.git, ann@example.com, https://localhost:8080/a/b@2x.png and https://host:443/x@y",
		`{"token":null,"secret":true,"password":"","credentials":{"name":"x"},"tokens":3,"secrets":[]}`,
		"GET https://example.com/key/sig?page=2&order=code#sig 404",
		"scikit sk-learn, task-key-value-store, ask-me-anything-about-tokens, pypi-publish-action-of-somebody",
		"/home/ann/tokens.txt: no such file; secret.go:12:3: undefined: token",
		"call_id toolu_01A09q90qw90lq917835lq9 request req_011CSHoEeqs5C35K2UUqR7Fy",
		"<b>password</b> <token/>",
		"-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
		"monkey=1 turkey: 2 tokenize=3 passage: 4",
	} {
		if got := set.Hide(text); got != text {
			t.Errorf("Hide(%s) = %s, want it as it is", text, got)
		}
	}
}

// Hiding costs time in proportion to the text, whatever is in it, and never panics.
func FuzzHide(f *testing.F) {
	for _, seed := range []string{`password="`, `"token":\"x\\\"`, "secret: |\n  a\n", `api_key:[["a]","b"`, "token%3Dx%26y", `password\\\"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var set redact.Set
		got := set.Hide(text)
		if len(got) > 12*len(text)+20 {
			t.Errorf("Hide(%q) has %d bytes", text, len(got))
		}
	})
}

// A value that is not complete yet is known by its beginning.
func TestBegun(t *testing.T) {
	var set redact.Set
	set.Add("abcdefgh", "cdefghijkl")
	for text, want := range map[string]int{"": 0, "x": 0, "xa": 1, "xabcd": 4, "abcdefgh": 6, "cdefghijkl": 0, "aab": 2} {
		if got := set.Begun(text); got != want {
			t.Errorf("Begun(%q) = %d, want %d", text, got, want)
		}
	}
}
