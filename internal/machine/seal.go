package machine

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// macMember is what a sealed record ends with, around the digits.
const macMember = ",\n\"mac\":\""

// Encode returns the record as it is kept: JSON and a line feed. With a key, it ends
// with a MAC of what it holds and of before, the MAC of the record that it follows.
func (r *Record) Encode(key []byte, before string) (data []byte, mac string, err error) {
	data, err = r.encode()
	if err != nil {
		return nil, "", err
	}
	if len(key) > 0 {
		content := data[:len(data)-1]
		mac = macOf(content, key, before)
		data = append(append(append(content, macMember...), mac...), `"}`...)
	}
	return append(data, '\n'), mac, nil
}

func macOf(content, key []byte, before string) string {
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, before) // a hash takes everything
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// checkSeal says whether the record is as it was written by a holder of the key.
func (r *Record) checkSeal(raw, key []byte, before string) error {
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
