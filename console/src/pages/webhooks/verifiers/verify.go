package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func sum(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func Verify(secret string, header http.Header, body []byte) bool {
	expected := "sha256=" + hex.EncodeToString(sum([]byte(secret), body))
	return hmac.Equal([]byte(header.Get("X-Service-Signature")), []byte(expected))
}

func VerifyStandard(secret string, header http.Header, body []byte) bool {
	id, sentAt := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	key := []byte(secret)
	if strings.HasPrefix(secret, "whsec_") {
		if key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil {
			return false
		}
	}
	digest := sum(key, []byte(id+"."+sentAt+"."), body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(digest))
	for _, given := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), expected) {
			return true
		}
	}
	return false
}
