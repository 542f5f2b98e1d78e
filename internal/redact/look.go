package redact

import (
	"regexp"
	"sync"
)

// look is what a kind of secret looks like.
type look struct {
	pattern *regexp.Regexp
	with    string
}

// names are what the names of secrets end with.
const names = `(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|signature|cookie|` +
	`(?:api|access|secret|private|auth|account|signing|encryption)[_-]?key(?:[_-]?id)?|authorization)`

// keys are keys that say whose they are.
const keys = `(?:A(?:KIA|SIA)[0-9A-Z]{16}|(?:gh[pousr]|github_pat|npm|hf|whsec|gsk|shp(?:at|ca|pa|ss)|lin_api|ntn|sntry[su]|gl(?:sa|c)|pscale_tkn|do[opr]_v1)_\w{16,}|` +
	`gl(?:pat|dt|rt|cbt|ptt|ft)-[\w-]{16,}|x(?:ox[abceoprs]|app)-[\w-]{10,}|[rsp]k_(?:live|test)_\w{10,}|sk-[\w-]{20,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|` +
	`GOCSPX-[\w-]{16,}|pypi-AgE[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hv[sb]\.[\w-]{20,}|(?:xai|pplx)-\w{20,}|dapi[0-9a-f]{32}|key-[0-9a-f]{32}|` +
	`ATATT3[\w=-]{20,}|AGE-SECRET-KEY-1\w{20,}|\d{8,10}:AA[\w-]{30,}|eyJ[\w-]{8,}(?:\.[\w-]*){2,4})`

//nolint:gochecknoglobals // constants, compiled for the first text
var (
	headerName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)auth|key|token|secret|cookie|signature|credential`)
	})

	// named finds the name of a secret, up to its value: a plural, the quote behind the
	// name, and what is between name and value.
	named = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\w.-]*` + names + `(s?)(\\*["'])?(?:[ \t]*(?:=>|:=|[:=])[ \t]*|%(?:25)*3[ad])`)
	})

	looks = sync.OnceValue(func() []look {
		hide := func(pattern, with string) look { return look{regexp.MustCompile(pattern), with} }
		return []look{
			// Keys in PEM, also where the text is quoted or torn.
			hide(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)`, Mark),
			// Headers, to the end of the line.
			hide(`(?i)(\b(?:(?:proxy-)?authorization|x-api-key|api-key|[\w-]*-(?:auth|token|key|secret|signature)|(?:set-)?cookie)\s*:\s*)[^\s"'\\\[][^\r\n"'\\]*`, "${1}"+Mark),
			hide(`(?i)(\bresponse=\\*")[0-9a-f]{32,}`, "${1}"+Mark),
			// Parameters of URLs and forms that are secrets there alone.
			hide(`(?i)((?:[?&]|\\+u0026)(?:key|sig|code|auth)=)[^&\s"'\\]+`, "${1}"+Mark),
			// Whoever is named before the host of a URL. A password may hold a slash, but a
			// port is none.
			hide(`(://(?:[^/@\s":\\]*:)?)[^/\s"\\]+@`, "${1}"+Mark+"@"),
			hide(`(://[^/@\s":\\]*:)[^/@\s"\\\d\[][^@\s"\\]*@`, "${1}"+Mark+"@"),
			hide(`(\bhooks\.slack\.com/(?:services|workflows)/|\bdiscord(?:app)?\.com/api/webhooks/\d+/)[\w/-]+`, "${1}"+Mark),
			hide(`((?i:\b(?:bearer|basic) +))[\w.~+/=-]*[0-9A-Z+/=][\w.~+/=-]{7,}`, "${1}"+Mark),
			// Elements of XML.
			hide(`(?i)((?:<|\\+u003c)[\w:.-]*`+names+`(?:>|\\+u003e))[^<\\\s\[][^<\\]*`, "${1}"+Mark),
			// Flags of commands, whose value is no plain word, and what curl and netrc take.
			hide(`((?i:--?[\w-]*`+names+`)(?:\\*["']\s*,\s*\\*["']|\s+\\*["']?))[^\s"'\\,-]*(?:[^a-z\s"'\\,\[-]|[a-z]{12})[^\s"'\\,]*`, "${1}"+Mark),
			hide(`((?:^|[\s"'])(?:-u|--user|--proxy-user)(?:\\*["']\s*,\s*\\*["']|[\s=]+\\*["']?)[^\s:"'\\]+:)[^\s"'\\\[]+`, "${1}"+Mark),
			hide(`(?i)(\blogin\s+\S+\s+password\s+)[^\s"'\\\[]+`, "${1}"+Mark),
			hide(`\b(sk-ant-)[\w-]{4,}`, "${1}"+Mark),
			hide(`\b`+keys, Mark),
		}
	})
)
