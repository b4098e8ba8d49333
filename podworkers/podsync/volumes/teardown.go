package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// TearDown implements podsync.Volumes. What is mounted is unmounted first, and
// nothing is removed as long as something still is: it may be the host's.
func (d *Dir) TearDown(ctx context.Context, uid types.UID) error {
	if volume.Element(string(uid)) != nil {
		return nil // Nothing has been set up for it.
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.remove(string(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("volumes: pod %s: %w", uid, err)
	}
	return nil
}

func (d *Dir) remove(uid string) error {
	root, err := os.OpenRoot(d.cfg.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	pods, err := root.OpenRoot("pods")
	if err != nil {
		return err
	}
	defer pods.Close()
	info, err := pods.Lstat(uid)
	if err != nil {
		return err
	}
	if info.IsDir() {
		pod, err := pods.OpenRoot(uid)
		if err != nil {
			return err
		}
		err = unmountAll(pod)
		pod.Close()
		if err != nil {
			return err
		}
	}
	return removeAll(pods, uid)
}
