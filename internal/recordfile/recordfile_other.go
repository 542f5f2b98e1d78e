//go:build !unix

package recordfile

import "os"

const nonblock = 0

// makePrivate does nothing: the access of others is that of the folder.
func makePrivate(*os.File) error { return nil }

// syncFolder does nothing: folders cannot be synced.
func syncFolder(string) error { return nil }
