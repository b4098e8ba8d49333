package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
)

// keptLogs is how many termination logs of a container are kept.
const keptLogs = 10

// TerminationLog implements podsync.Files.
func (d *Dir) TerminationLog(pod *v1.Pod, container string, attempt uint32) (string, error) {
	name := strconv.FormatUint(uint64(attempt), 10)
	if err := d.makeTerminationLogAndRemoveOneOld(pod, container, name, attempt); err != nil {
		return "", fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	return d.podPath(pod.UID, containersDir, container, name), nil
}

// makeTerminationLogAndRemoveOneOld creates the termination message file for one attempt of a container.
// Everybody may write to the file. It also deletes one older file: the file of the attempt whose number is
// lower by keptLogs. It may replace the directory of a former pod with this UID.
func (d *Dir) makeTerminationLogAndRemoveOneOld(pod *v1.Pod, container, name string, attempt uint32) error {
	allowed, err := d.mayDiscard(pod)
	if err != nil {
		return err
	}
	defer d.locks.Lock(pod.UID)()
	own, _, err := d.openOrMakePodDir(pod, allowed)
	if err != nil {
		return err
	}
	defer own.Close()
	dir, err := makeAndOpenSubdir(own, containersDir, container)
	if err != nil {
		return err
	}
	defer dir.Close()
	if attempt >= keptLogs {
		old := strconv.FormatUint(uint64(attempt-keptLogs), 10)
		if err := osfile.RemoveAll(context.Background(), dir, old); err != nil {
			return err
		}
	}
	const everybody = 0o666
	f, err := osfile.OpenFile(dir, name, os.O_WRONLY|os.O_CREATE, everybody)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(everybody), f.Close())
}

// ReadTerminationLog implements podsync.Files. A container may have replaced its file by anything. So
// it follows no link, opens only a regular file, and reads at most limit bytes.
func (d *Dir) ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error) {
	dir, err := d.openPodSubdir(uid, containersDir, container)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	defer dir.Close()
	text, err := readFileEnd(dir, strconv.FormatUint(uint64(attempt), 10), limit)
	if err != nil {
		return nil, fmt.Errorf("volumes: termination log of container %s: %w", container, err)
	}
	return text, nil
}

// readFileEnd returns the last bytes of a file, at most limit. It returns nil if the file does not exist.
func readFileEnd(dir *os.Root, name string, limit int) ([]byte, error) {
	f, err := osfile.OpenFile(dir, name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(max(int64(limit), 0), info.Size()))
	n, err := f.ReadAt(text, info.Size()-int64(len(text)))
	if errors.Is(err, io.EOF) {
		err = nil // The file was truncated meanwhile.
	}
	return text[:n], err
}
