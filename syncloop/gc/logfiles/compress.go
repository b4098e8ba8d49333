package logfiles

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// pieceBytes is how much is read between two looks at the context.
const pieceBytes = 1 << 20

// compress puts a file into a smaller one. Until that is whole, and on the disk, it
// has a name of its own, and what it is made of stays; a rest of it is removed.
func compress(ctx context.Context, dir *os.Root, name string) error {
	whole, part := policy.Compressed(name)
	err := squeeze(ctx, dir, name, part)
	if err == nil {
		err = dir.Rename(part, whole)
	}
	if err != nil {
		if rest := dir.Remove(part); rest != nil && !errors.Is(rest, fs.ErrNotExist) {
			err = errors.Join(err, rest)
		}
		return fmt.Errorf("logfiles: compress %s: %w", name, err)
	}
	if err := dir.Remove(name); err != nil {
		return fmt.Errorf("logfiles: %s has been compressed: %w", name, err)
	}
	return nil
}

// squeeze writes the compressed file.
func squeeze(ctx context.Context, dir *os.Root, name, part string) (err error) {
	from, mode, err := openRegular(dir, name)
	if err != nil {
		return err
	}
	defer from.Close() // It was only read.
	to, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	packer := gzip.NewWriter(to)
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(packer, from, pieceBytes)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, packer.Close(), to.Sync(), to.Close())
}

// openRegular opens a file and nothing else: no link, and nothing that takes the
// file's place meanwhile.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileMode, error) {
	f, err := osfile.OpenFile(dir, name, os.O_RDONLY, 0)
	if errors.Is(err, osfile.ErrNotRegular) || errors.Is(err, osfile.ErrReplaced) {
		err = fmt.Errorf("%w: %s: %w", ErrNotRegular, name, err)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // It was only read.
		return nil, 0, err
	}
	return f, info.Mode(), nil
}
