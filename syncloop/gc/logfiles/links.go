package logfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/runtime"
)

// Link makes a link to the log of a container in Config.Links, as kubelets have it in
// /var/log/containers for those who collect logs: <name>_<namespace>_<container>-<id>.log. It
// is called once the container has started. A link that is there stays. Without
// Config.Links it does nothing.
func (d *Dir) Link(pod runtime.PodRef, container, id string, attempt uint32) error {
	if d.cfg.Links == "" {
		return nil
	}
	const longest, suffix = 255, ".log"
	name := pod.Name + "_" + pod.Namespace + "_" + container + "-" + id
	name = name[:min(len(name), longest-len(suffix))] + suffix
	err := os.MkdirAll(d.cfg.Links, 0o755)
	if err == nil {
		var dir *os.Root
		if dir, err = osfile.OpenDir(d.cfg.Links); err == nil {
			defer dir.Close()
			err = dir.Symlink(filepath.Join(d.cfg.Root, directory(pod), container, fmt.Sprintf("%d.log", attempt)), name)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("logfiles: the link to a log of container %s: %w", container, err)
	}
	return nil
}

// sweepLinks removes the links to logs below the root that are gone. Others are not ours.
func (d *Dir) sweepLinks(ctx context.Context) error {
	if d.cfg.Links == "" {
		return nil
	}
	dir, err := osfile.OpenDir(d.cfg.Links)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var gone []string
	err = each(dir, func(e fs.DirEntry) bool {
		target, err := dir.Readlink(e.Name())
		if err == nil && strings.HasPrefix(target, d.cfg.Root+string(filepath.Separator)) {
			if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
				gone = append(gone, e.Name())
			}
		}
		return ctx.Err() == nil
	})
	errs := []error{err}
	for _, name := range gone {
		if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
