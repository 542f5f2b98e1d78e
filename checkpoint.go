package toolrunner

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/recordfile"
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

// FileCheckpoint saves a run in one file: it appends each delta and syncs the file. A Full
// delta, such as the first one after [Resume], replaces the file instead: it is written to
// a file beside it, whose name ends in .toolrunner-new, and renamed. So the file holds one
// whole state and the deltas after it. Where renaming is not possible, the Full delta is
// appended as well.
//
// The file is locked until Close: nobody else can open it, in this process or another.
// Systems without flock, such as Windows, have no such lock; there, a second process is
// noticed when it has written to the file.
type FileCheckpoint struct {
	file           *recordfile.File
	snapshot, torn []byte
	last           machine.Head // of what is in the file; zero if there is nothing
}

// OpenFileCheckpoint opens a file that Append has written, or creates it, readable for its
// owner only. Of an existing file it takes the access of others away. It returns an error
// if the path leads to a link or anything else that is no regular file, if the file is
// open already, or if the file system fails.
//
// If a crash has cut off the last record, opening the file removes what is left of that
// record; see [FileCheckpoint.Torn]. Everything else that Append cannot have left is a
// *[SnapshotError], and the file stays as it is: that includes a file whose only record is
// cut off. Whether a sealed snapshot is genuine, [Resume] tells.
func OpenFileCheckpoint(path string) (*FileCheckpoint, error) {
	file, data, err := recordfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("toolrunner: %w", err)
	}
	c := &FileCheckpoint{file: file}
	if err := c.load(data); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// load reads what is whole, and cuts off what is torn.
func (c *FileCheckpoint) load(data []byte) error {
	end, err := machine.ScanRecords(data, func(raw []byte) (err error) {
		c.last, err = machine.ReadHead(raw)
		return err
	})
	if err != nil {
		return publicError(err)
	}
	if end > 0 {
		c.snapshot = data[:end:end]
	}
	if end == len(data) {
		return nil
	}
	if torn := bytes.TrimRight(data[end:], "\x00"); len(bytes.TrimSpace(torn)) > 0 {
		c.torn = torn
	}
	if err := c.file.Cut(int64(end)); err != nil {
		return fmt.Errorf("toolrunner: %w", err)
	}
	return nil
}

// Snapshot returns what was in the file when it was opened, for [Resume], or nil if
// the run has not begun.
func (c *FileCheckpoint) Snapshot() []byte { return c.snapshot }

// Torn returns what a crash has left of the last record, which was removed when the file
// was opened, or nil. The run goes on from the state before it. As a checkpoint is whole
// before the run goes on, nothing but the step that it was to save is lost.
func (c *FileCheckpoint) Torn() []byte { return c.torn }

// Append is the [Checkpoint]. It refuses a delta that does not follow what is in the
// file, such as that of a new run where there is one already. It returns an error if the
// file was removed, replaced or written to by somebody else.
func (c *FileCheckpoint) Append(_ context.Context, delta Delta) error {
	if c.file.Size() == 0 && !delta.Full {
		return fmt.Errorf("%s is empty, and the delta follows another one", c.file.Path())
	}
	if last := c.last; last.ID != "" && (delta.ConversationID != last.ID || delta.After != last.Sequence) {
		return fmt.Errorf("%s holds the conversation %q up to sequence %d, and the delta is one of %q after %d: Resume goes on with a conversation; another one needs another file",
			c.file.Path(), last.ID, last.Sequence, delta.ConversationID, delta.After)
	}
	write := c.file.Append
	if delta.Full {
		write = c.file.Replace
	}
	if err := write(delta.Data); err != nil {
		return err
	}
	c.last.ID, c.last.Sequence = delta.ConversationID, delta.Sequence
	return nil
}

// Close closes the file, which others can then open. What Append has returned for is safe
// without it.
func (c *FileCheckpoint) Close() error { return c.file.Close() }
