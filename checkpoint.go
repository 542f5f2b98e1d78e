package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolrunner/toolrunner/internal/filelock"
	"github.com/toolrunner/toolrunner/internal/machine"
)

// Checkpoint saves the changes of a run, as Params.Checkpoint. The runner calls it on its
// own goroutine, one delta at a time: before the first request, after each reply, after
// the calls of a reply were decided on, before a call starts that must not run twice,
// after each result, and at each end. A decision of [Runner.Decide] is saved when the run
// goes on.
//
// Checkpoint must return when the delta is safe: the run goes on then. An error ends the
// run, and the next loop saves the same delta again.
//
// ctx is the run's context. Results, and the end of a cancelled run, are saved with a
// context that is not cancelled. If ctx has ended, an error ends the run as cancelled.
//
// [Resume] takes the Data of all deltas in order, one after the other. A Full delta holds
// the whole state: the deltas before it are not needed any more.
type Checkpoint func(ctx context.Context, delta Delta) error

// Delta is what has changed in a run since the delta before it, or, if Full, all of
// it.
type Delta struct {
	ConversationID string // see Params.ConversationID
	Sequence       int64  // of the state that the delta leads to
	After          int64  // the sequence of the state before it; 0 for the first of a run
	Full           bool
	Data           []byte // in the format of Runner.Snapshot; ends with a line feed
}

// FileCheckpoint saves a run in one file: it appends each delta and syncs the file. If a
// crash has cut the last delta off, opening the file removes it. One process may use the
// file at a time: Append fails if another one has written to it. On systems without flock,
// such as Windows, two processes that write at the same moment are not detected.
type FileCheckpoint struct {
	file     *os.File
	snapshot []byte
	size     int64        // of what is known to be whole
	last     machine.Head // of what is in it; zero if there is nothing
}

// OpenFileCheckpoint opens a file that Append has written, or creates it, readable
// for its owner only. It returns an error of the file system, or a *[SnapshotError] if
// there is something else in it, which is left alone. Whether a sealed snapshot is
// genuine, [Resume] tells.
func OpenFileCheckpoint(path string) (*FileCheckpoint, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("toolrunner: %w", err)
	}
	c := &FileCheckpoint{file: file}
	if err := filelock.Hold(file, c.load); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	syncFolder(path)
	return c, nil
}

// load reads what is whole, and cuts off what is torn.
func (c *FileCheckpoint) load() error {
	data, err := io.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("toolrunner: %w", err)
	}
	end, err := machine.ScanRecords(data, func(raw []byte) (err error) {
		c.last, err = machine.ReadHead(raw)
		return err
	})
	if err != nil {
		return publicError(err)
	}
	if end < len(data) {
		if err := c.file.Truncate(int64(end)); err != nil {
			return fmt.Errorf("toolrunner: %w", err)
		}
	}
	c.size = int64(end)
	if end > 0 {
		c.snapshot = data[:end]
	}
	return nil
}

// syncFolder makes a new file's name safe, where the system can do that.
func syncFolder(path string) {
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}

// Snapshot returns what was in the file when it was opened, for [Resume], or nil if
// the run has not begun.
func (c *FileCheckpoint) Snapshot() []byte { return c.snapshot }

// Append is the [Checkpoint]. It refuses a delta that does not follow what is in the
// file, such as that of a new run where there is one already.
func (c *FileCheckpoint) Append(_ context.Context, delta Delta) error {
	if c.size == 0 && !delta.Full {
		return fmt.Errorf("%s is empty, and the delta follows another one", c.file.Name())
	}
	if last := c.last; last.ID != "" && (delta.ConversationID != last.ID || delta.After != last.Sequence) {
		return fmt.Errorf("%s holds the conversation %q up to sequence %d, and the delta is one of %q after %d: Resume goes on with a conversation; another one needs another file",
			c.file.Name(), last.ID, last.Sequence, delta.ConversationID, delta.After)
	}
	return filelock.Hold(c.file, func() error { return c.append(delta) })
}

func (c *FileCheckpoint) append(delta Delta) error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != c.size {
		return fmt.Errorf("%s has %d bytes and should have %d: somebody else has written to it", c.file.Name(), info.Size(), c.size)
	}
	_, err = c.file.WriteAt(delta.Data, c.size)
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		return errors.Join(err, c.file.Truncate(c.size))
	}
	c.size += int64(len(delta.Data))
	c.last.ID, c.last.Sequence = delta.ConversationID, delta.Sequence
	return nil
}

// Close closes the file. What Append has returned for is safe without it.
func (c *FileCheckpoint) Close() error {
	if err := c.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
