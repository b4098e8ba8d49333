package logfiles

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// logDirectory is a directory for the logs of a pod that belongs to this node.
type logDirectory struct{ root, name string }

// isRootShared reports whether Config.Root may contain log directories of other agents. If it may, this node
// stores a record of each directory that it creates.
func (d *Dir) isRootShared() bool { return d.records != nil }

// rootsOfThisNode returns the root directories in which everything belongs to this node: Config.OwnRoots, and
// Config.Root unless other agents use it too.
func (d *Dir) rootsOfThisNode() []string {
	if d.isRootShared() {
		return d.cfg.OwnRoots
	}
	return append([]string{d.cfg.Root}, d.cfg.OwnRoots...)
}

// SetUp creates the directory for the logs of a pod. The caller calls it before it passes the path
// to the runtime. A removal that began before SetUp removes only the former directory, and a later
// removal finds that the pod is not gone. If another program has a directory with that name in a
// shared root, SetUp creates a directory with another name.
func (d *Dir) SetUp(pod runtime.PodRef) error {
	if err := podspec.CheckUID(pod.UID); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	ran := d.mayAdoptUnrecordedDir(pod)
	defer d.locks.Lock(pod.UID)()
	if err := os.MkdirAll(d.cfg.Root, dirMode); err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	root, err := osfile.OpenDir(d.cfg.Root)
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	defer root.Close()
	if d.isRootShared() {
		err = d.ensureRecordedPodDir(root, pod, ran)
	} else {
		err = ensurePodDirWithoutLinks(root, directoryName(pod))
	}
	if err != nil {
		return fmt.Errorf("logfiles: %w", err)
	}
	return nil
}

// dirMode is the mode of the directories; log collectors read them.
const dirMode = 0o755

// ensurePodDirWithoutLinks creates the directory of a pod, or uses an existing one. It removes a symbolic link
// with that name, and links in the directory, because the runtime would follow them when it writes logs. It
// returns an error if a file has that name.
func ensurePodDirWithoutLinks(root *os.Root, name string) error {
	if isLink(root, name) {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, dirMode); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := osfile.OpenSubdir(root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	var links []string
	err = forEachEntry(dir, func(e fs.DirEntry) bool {
		if e.Type()&fs.ModeSymlink != 0 {
			links = append(links, e.Name())
		}
		return true
	})
	for _, link := range links {
		if err == nil {
			err = dir.Remove(link)
		}
	}
	return err
}

// isLink reports whether an entry of a directory is a symbolic link.
func isLink(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// ensureRecordedPodDir ensures that a pod has a log directory in a Config.Root that other agents use too, and a
// stored record that this node created it. It deletes a record whose directory may belong to another program.
// If a directory of another program has the pod's name, the new directory gets a random suffix. mayAdopt is the
// result of mayAdoptUnrecordedDir.
func (d *Dir) ensureRecordedPodDir(root *os.Root, pod runtime.PodRef, mayAdopt bool) error {
	found, err := d.recordsOfPodOrAdoptDir(pod, mayAdopt)
	if err != nil {
		return err
	}
	for _, r := range found {
		switch {
		case r.Root != d.cfg.Root:
		case r.Made && !isLink(root, r.Name):
			return ensurePodDirWithoutLinks(root, r.Name)
		default: // After a crash before the directory was marked as made, or with a link in its place, it may belong to another program.
			if err := d.records.remove(r); err != nil {
				return err
			}
		}
	}
	const attempts = 10
	name := directoryName(pod)
	for range attempts {
		r, err := d.records.addWithNewID(directoryRecord{Root: d.cfg.Root, Name: name, Pod: directoryName(pod), UID: pod.UID})
		if err != nil {
			return err
		}
		if err = root.Mkdir(name, dirMode); err == nil {
			r.Made = true
			return d.records.put(r)
		}
		if forgotten := d.records.remove(r); forgotten != nil || !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, forgotten)
		}
		name = directoryName(pod) + "." + strings.ToLower(rand.Text()[:8])
	}
	return fmt.Errorf("make %s: %w", name, fs.ErrExist)
}

// LogDir returns the directory for a pod's logs that SetUp has created, for the runtime. It is
// called right after SetUp.
func (d *Dir) LogDir(pod runtime.PodRef) (string, error) {
	if d.isRootShared() {
		found, err := d.recordsOfPodOrAdoptDir(pod, d.mayAdoptUnrecordedDir(pod))
		if err != nil {
			return "", fmt.Errorf("logfiles: %w", err)
		}
		for _, r := range found {
			if r.Root == d.cfg.Root && r.Made {
				return r.path(), nil
			}
		}
	}
	return filepath.Join(d.cfg.Root, directoryName(pod)), nil
}

// mayAdoptUnrecordedDir reports whether an existing log directory of the pod may be taken as this node's own:
// other agents use Config.Root too, this node has no record of a directory of the pod, and Config.Ran says that
// the pod has run here. The caller must hold no lock.
func (d *Dir) mayAdoptUnrecordedDir(pod runtime.PodRef) bool {
	if !d.isRootShared() || d.cfg.Ran == nil {
		return false
	}
	found, err := d.recordsOfPod(pod)
	return err == nil && len(found) == 0 && d.cfg.Ran(pod.UID)
}

func (d *Dir) recordsOfPod(pod runtime.PodRef) ([]directoryRecord, error) {
	return d.records.list(func(r directoryRecord) bool { return r.Pod == directoryName(pod) })
}

// recordsOfPodOrAdoptDir returns the records of the log directories that this node created for a pod. If none
// is stored and mayAdopt is true, it stores and returns a record for the pod's directory, if that exists. An
// earlier version of this package created directories without records.
func (d *Dir) recordsOfPodOrAdoptDir(pod runtime.PodRef, mayAdopt bool) ([]directoryRecord, error) {
	found, err := d.recordsOfPod(pod)
	if err != nil || len(found) > 0 || !mayAdopt {
		return found, err
	}
	info, err := os.Lstat(filepath.Join(d.cfg.Root, directoryName(pod)))
	if err != nil || !info.IsDir() {
		return nil, nil // It does not exist, or is no directory.
	}
	if _, ours := policy.PodOfLogs(directoryName(pod)); !ours {
		return nil, nil
	}
	r, err := d.records.addWithNewID(directoryRecord{Root: d.cfg.Root, Name: directoryName(pod), Pod: directoryName(pod), UID: pod.UID, Made: true})
	return []directoryRecord{r}, err
}

// logDirectories returns the directories that may contain a pod's logs. The directory for new logs is the
// first. If other agents use Config.Root too, it may first store a missing record, see recordsOfPodOrAdoptDir.
func (d *Dir) logDirectories(pod runtime.PodRef) (all []logDirectory, err error) {
	if d.isRootShared() {
		found, err := d.recordsOfPodOrAdoptDir(pod, d.mayAdoptUnrecordedDir(pod))
		if err != nil {
			return nil, fmt.Errorf("logfiles: %w", err)
		}
		for _, r := range found {
			p := logDirectory{r.Root, r.Name}
			switch {
			case !r.Made:
			case r.Root == d.cfg.Root:
				all = append([]logDirectory{p}, all...)
			default:
				all = append(all, p)
			}
		}
	}
	for _, root := range d.rootsOfThisNode() {
		all = append(all, logDirectory{root, directoryName(pod)})
	}
	return all, nil
}

// openContainerDirs opens the existing directories that contain a container's logs. If the directory for new
// logs exists, it is the first. The caller must close them.
func (d *Dir) openContainerDirs(pod runtime.PodRef, container string) ([]*os.Root, error) {
	places, err := d.logDirectories(pod)
	if err != nil {
		return nil, err
	}
	var dirs []*os.Root
	for _, p := range places {
		dir, err := openDirectory(p.root, p.name, container)
		switch {
		case err == nil:
			dirs = append(dirs, dir)
		case !errors.Is(err, fs.ErrNotExist):
			closeDirs(dirs)
			return nil, fmt.Errorf("logfiles: %w", err)
		}
	}
	return dirs, nil
}

func closeDirs(dirs []*os.Root) {
	for _, dir := range dirs {
		_ = dir.Close() // It was opened for reading.
	}
}

// openLogDir opens the directory of a container's log. That is the directory with a file of the log's attempt.
// If none has one, it is the directory for new logs. It returns fs.ErrNotExist if the container has no log
// directory.
func (d *Dir) openLogDir(l Log) (*os.Root, error) {
	dirs, err := d.openContainerDirs(l.Pod, l.Container)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("logfiles: logs of container %s: %w", l.Container, fs.ErrNotExist)
	}
	for i, dir := range dirs {
		if len(dirs) == 1 || hasLogOfAttempt(dir, l.Attempt) {
			closeDirs(append(dirs[:i:i], dirs[i+1:]...))
			return dir, nil
		}
	}
	closeDirs(dirs[1:])
	return dirs[0], nil
}

// hasLogOfAttempt reports whether a directory has a log file of an attempt, current or rotated.
func hasLogOfAttempt(dir *os.Root, attempt uint32) (has bool) {
	_ = forEachEntry(dir, func(e fs.DirEntry) bool {
		n, ok := policy.AttemptOfLog(e.Name())
		has = ok && n == attempt
		return !has
	})
	return has
}

// recordsOfUID returns the stored records of the log directories that this node created for a pod, or for all
// pods if uid is empty. The directories themselves may not exist. It returns nil if no other agent uses
// Config.Root, because then nothing is recorded.
func (d *Dir) recordsOfUID(uid types.UID) ([]directoryRecord, error) {
	if !d.isRootShared() {
		return nil, nil
	}
	return d.records.list(func(r directoryRecord) bool { return uid == "" || r.UID == uid })
}
