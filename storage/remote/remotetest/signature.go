package remotetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func checksum(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:8]
}

// refusal returns the code of the error with which S3 refuses a request, or "".
func (s Settings) refusal(q *http.Request) string {
	header := q.Header.Get("Authorization")
	switch {
	case s.Signed == Credentials{}:
		return ""
	case header == "":
		return "AccessDenied"
	}
	said := map[string]string{}
	for field := range strings.SplitSeq(strings.TrimPrefix(header, "AWS4-HMAC-SHA256 "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		said[name] = value
	}
	scope := strings.Split(said["Credential"], "/") // key, date, region, service, aws4_request
	switch {
	case len(scope) != 5 || scope[0] != s.Signed.AccessKey:
		return "InvalidAccessKeyId"
	case s.Region != "" && scope[2] != s.Region:
		return "AuthorizationHeaderMalformed"
	case q.Header.Get("X-Amz-Security-Token") != s.Signed.Token:
		return "InvalidToken"
	case Signature(q, s.Signed.SecretKey, scope[1:], strings.Split(said["SignedHeaders"], ";")) != said["Signature"]:
		return "SignatureDoesNotMatch"
	}
	return ""
}

// Signature returns version 4 of the signature of a request in a scope: its date, region, service and
// "aws4_request" (Amazon S3 API Reference, "Signature Calculations for the Authorization Header").
func Signature(q *http.Request, secret string, scope, headers []string) string {
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	slices.Sort(headers)
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", q.Method, escaped(q.URL.Path), strings.ReplaceAll(q.URL.Query().Encode(), "+", "%20"))
	for _, name := range headers {
		value := q.Header.Get(name)
		if name == "host" {
			value = q.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", strings.Join(headers, ";"), q.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", q.Header.Get("X-Amz-Date"), strings.Join(scope, "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

// escaped escapes all bytes of a path that are not letters, digits, or one of -._~/.
func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
