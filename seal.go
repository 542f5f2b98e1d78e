package toolrunner

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// Records that nobody may change reach this file; their seals leave it.

// macMember is what a sealed record ends with, around the digits.
const macMember = ",\n\"mac\":\""

// seal ends a record with the MAC of what it holds and of the seal before it.
func seal(raw, key []byte, before string) (sealed []byte, mac string) {
	mac = macOf(raw[:len(raw)-1], key, before)
	return append(append(append(raw[:len(raw)-1:len(raw)-1], macMember...), mac...), `"}`...), mac
}

func macOf(content, key []byte, before string) string {
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, before) // a hash takes everything
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// checkSeal says whether the record is as it was written by a holder of the key.
func (r *record) checkSeal(raw, key []byte, before string) error {
	switch {
	case len(key) == 0 && r.MAC == "":
		return nil
	case len(key) == 0:
		return errors.New("it is sealed, and Params.SnapshotKey is not set")
	case r.MAC == "":
		return errors.New("it is not sealed, and Params.SnapshotKey is set")
	}
	content, ok := bytes.CutSuffix(raw, []byte(macMember+r.MAC+`"}`))
	if !ok || !hmac.Equal([]byte(macOf(content, key, before)), []byte(r.MAC)) {
		return errors.New("it was changed after it was written, or another Params.SnapshotKey was set then")
	}
	return nil
}
