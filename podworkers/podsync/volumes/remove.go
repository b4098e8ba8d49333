package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
)

// TearDown implements podsync.Volumes. The directory of the pod is renamed first, so
// that a pod which comes under the same UID never shares one with a removal. What is
// mounted in it is unmounted then, and what remains is removed, without crossing a
// mount. It may be repeated, and goes on where it has failed or ctx has ended it; nil
// says that nothing of the pod is left.
func (d *Dir) TearDown(ctx context.Context, uid types.UID) error {
	return d.remove(ctx, uid, func(types.UID) bool { return true })
}

// Remove is TearDown for a pod that is not known to be desired. gone is asked at the
// moment of the rename, while no SetUp of the UID can be under way, and must not
// block; false keeps everything, which is no error.
func (d *Dir) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return d.remove(ctx, uid, gone)
}

func (d *Dir) remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	if !podspec.IsValidUID(uid) {
		return nil // Nothing has been set up for it.
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	pods, err := d.pods()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	defer pods.Close()
	mayGo, err := d.putAside(ctx, pods, uid, gone)
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	if !mayGo {
		return nil
	}
	return d.emptyOf(ctx, uid)
}

// emptyOf removes what was put aside of a UID.
func (d *Dir) emptyOf(ctx context.Context, uid types.UID) error {
	pods, err := d.pods()
	if err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	defer pods.Close()
	if _, err := removeDiscardedVolumes(ctx, pods, func(owner string) bool { return owner == string(uid) }); err != nil {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	return nil
}

// putAside has the directory of a pod out of the way, if it may go. A disk that has no room for
// a name elsewhere is full of what is to be removed here: then that is done in place, with the
// lock.
func (d *Dir) putAside(ctx context.Context, pods *os.Root, uid types.UID, gone func(types.UID) bool) (mayGo bool, err error) {
	defer d.locks.Lock(uid)()
	if !gone(uid) {
		return false, nil
	}
	err = discard(pods, string(uid))
	if osfile.IsDiskFull(err) {
		if err = unmountAt(pods, string(uid)); err == nil {
			err = osfile.RemoveAll(ctx, pods, string(uid))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	d.order.forget(uid)
	return true, nil
}

// discard renames the directory of a pod. What is mounted upon that itself, which the
// kernel does not rename, is unmounted before.
func discard(pods *os.Root, name string) error {
	err := osfile.Discard(pods, name, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unmountAt(pods, name); err != nil {
		return err
	}
	return osfile.Discard(pods, name, name)
}

// Sweep goes on with removals that were cut short or have failed, those of former
// agents too, and tells how many trees are left that could not be removed. The error
// is the first of these. It may be called at any time, and be repeated.
func (d *Dir) Sweep(ctx context.Context) (left int, err error) {
	pods, err := d.pods()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("volumes: %w", err)
	}
	defer pods.Close()
	left, err = removeDiscardedVolumes(ctx, pods, func(string) bool { return true })
	if err != nil {
		return left, fmt.Errorf("volumes: %w", err)
	}
	return 0, nil
}

// removeDiscardedVolumes unmounts and removes the discarded volumes of some owners, and returns how many are left.
func removeDiscardedVolumes(ctx context.Context, pods *os.Root, of func(owner string) bool) (left int, err error) {
	return osfile.EmptyTrash(ctx, pods, of, func(path string) error { return unmountAt(pods, path) })
}

// maxEntries is how many names are read to find the directories of pods.
const maxEntries = 1 << 16

// Pods lists pods that have a directory and for which of answers true, at most limit of
// them, in the order of their UIDs: so that those are torn down that were removed while
// no agent ran.
func (d *Dir) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	uids, err := d.list(of, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("volumes: list the pods: %w", err)
	}
	slices.Sort(uids)
	return uids, nil
}

func (d *Dir) list(of func(types.UID) bool, limit int) (uids []types.UID, err error) {
	dir, err := d.pods()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	pods, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer pods.Close()
	const piece = 256
	for read := 0; read < maxEntries; read += piece {
		entries, err := pods.ReadDir(piece)
		for _, e := range entries {
			if uid := types.UID(e.Name()); e.IsDir() && podspec.IsValidUID(uid) && len(uids) < limit && of(uid) {
				uids = append(uids, uid)
			}
		}
		if errors.Is(err, io.EOF) || len(uids) >= limit {
			return uids, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return uids, nil
}
