package machine

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// What a record ends with, before the digits: a checksum, or a seal.
const (
	sumMember = ",\n\"sum\":\""
	macMember = ",\n\"mac\":\""
)

// Encode returns the record as it is kept: JSON and a line feed. It ends with a
// checksum, or, with a key, with a MAC of what it holds and of before, the MAC of the
// record that it follows.
func (r *Record) Encode(key []byte, before string) (data []byte, mac string, err error) {
	data, err = r.encode()
	if err != nil {
		return nil, "", err
	}
	content := data[:len(data)-1]
	if len(key) > 0 {
		mac = macOf(content, key, before)
		data = append(append(content, macMember...), mac...)
	} else {
		data = append(append(content, sumMember...), sumOf(content)...)
	}
	return append(data, "\"}\n"...), mac, nil
}

// sumOf returns the checksum of a record: what is damaged by accident is noticed.
func sumOf(content []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
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
		return r.checkSum(raw)
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

// checkSum says whether the record is as it was written. Version 1 has no checksums.
func (r *Record) checkSum(raw []byte) error {
	if r.Version == oldestVersion && r.Sum == "" {
		return nil
	}
	content, ok := bytes.CutSuffix(raw, []byte(sumMember+r.Sum+`"}`))
	if !ok || sumOf(content) != r.Sum {
		return errors.New("it was damaged after it was written: its checksum is another")
	}
	return nil
}
