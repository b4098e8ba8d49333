package volumes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// The names of the agent in a volume of files. No file of a pod begins with two dots.
const (
	dataLink  = "..data"   // the link to the current version
	linkMade  = "..link"   // a new link before its rename
	versions  = "..v-"     // the prefix of a version, before the hash of its files
	immutable = "..fixed-" // the prefix of a version whose objects are immutable
)

// writeVolumeFilesIfChanged writes the files of a volume into a new directory. It then changes the symbolic link
// to the current directory in one step, so that a reader sees either all old files or all new ones. It writes
// nothing if the files have not changed. It also writes nothing if the present files are immutable, or come from a
// newer read of the objects than the read of this call.
func (s *setUpCall) writeVolumeFilesIfChanged(ctx context.Context, v *v1.Volume) error {
	dir, err := s.openFilesDir(ctx, v)
	if err != nil {
		return err
	}
	defer dir.Close()
	current, err := dir.Readlink(dataLink)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.HasPrefix(current, immutable) || s.stale && current != "" {
		return nil
	}
	files, err := volume.Files(s.pod, v, s.objects, s.dirs.cfg.Allocatable)
	if err != nil {
		return err
	}
	group := s.fsGroup()
	name := s.versionDirName(v, files, group)
	if name != current {
		if err := writeVersionDir(ctx, dir, name, files, group); err != nil {
			return err
		}
		if err := replaceSymlink(ctx, dir, name, dataLink); err != nil {
			return err
		}
	}
	return linkFilesAndRemoveOld(ctx, dir, name, files)
}

// openFilesDir opens the directory of a volume with files, and creates it if it is missing. With
// Config.SecretsInMemory it first mounts a tmpfs on the directory. It mounts none for a configMap, and none if
// the directory already has files or a mount.
func (s *setUpCall) openFilesDir(ctx context.Context, v *v1.Volume) (*os.Root, error) {
	if err := s.makeVolumeDirIfMissing(ctx, v.Name, -1); err != nil {
		return nil, err
	}
	if s.dirs.cfg.SecretsInMemory && volume.KindOf(v) != volume.ConfigMap {
		if err := s.mountMemoryUnlessFilesExist(v.Name); err != nil {
			return nil, err
		}
	}
	return osfile.OpenSubdir(s.volumes, v.Name)
}

// versionDirName returns the name of the directory for one version of a volume's files: a prefix, and a hash of
// the files' paths, contents, modes, owners and group. The prefix says whether all objects of the volume are
// immutable.
func (s *setUpCall) versionDirName(v *v1.Volume, files []volume.File, group int) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %s %o %d %d\n", len(f.Path), f.Path, f.Mode, group, len(f.Data))
		h.Write(f.Data)
		if f.Owner != nil {
			fmt.Fprintf(h, " of %d", *f.Owner)
		}
	}
	prefix := versions
	if areAllSourcesImmutable(v, &s.objects) {
		prefix = immutable
	}
	return prefix + hex.EncodeToString(h.Sum(nil)[:16])
}

// areAllSourcesImmutable reports whether all sources of a volume are ConfigMaps and Secrets that exist and are
// immutable. It returns false if the volume has no such source, or if it also has downward API items or tokens.
func areAllSourcesImmutable(v *v1.Volume, objects *environ.Objects) bool {
	of := v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{*v}}}
	needs := volume.ObjectRefs(&of)
	for _, n := range needs {
		var is *bool
		if m := objects.ConfigMaps[n.Name]; n.Kind == environ.ConfigMap && m != nil {
			is = m.Immutable
		}
		if o := objects.Secrets[n.Name]; n.Kind == environ.Secret && o != nil {
			is = o.Immutable
		}
		if is == nil || !*is {
			return false
		}
	}
	return len(needs) > 0 && !volume.HasDownwardAPI(v) && len(volume.TokenRefs(&of)) == 0
}

// writeVersionDir creates the directory version in dir with the given files and their parent directories. It
// first deletes a directory that an interrupted call has left under this name.
func writeVersionDir(ctx context.Context, dir *os.Root, version string, files []volume.File, group int) error {
	if err := osfile.RemoveAll(ctx, dir, version); err != nil {
		return err
	}
	made := map[string]bool{}
	if err := makeDirInVersion(dir, version, group); err != nil {
		return err
	}
	for _, f := range files {
		for i := range len(f.Path) {
			if sub := f.Path[:i]; f.Path[i] == '/' && !made[sub] {
				made[sub] = true
				if err := makeDirInVersion(dir, version+"/"+sub, group); err != nil {
					return err
				}
			}
		}
		if err := writeFileInVersion(dir, version+"/"+f.Path, f, group); err != nil {
			return err
		}
	}
	return nil
}

// makeDirInVersion creates a directory with mode 0755 for the files of a volume. If group is not negative, it
// also sets the group and the setgid bit.
func makeDirInVersion(dir *os.Root, name string, group int) error {
	if err := dir.Mkdir(name, privateDirMode); err != nil {
		return err
	}
	return setGroupAndMode(dir, name, 0o755|setgidBitIfGroup(group), group)
}

// writeFileInVersion creates one file of a volume with its content, owner and mode. If group is not negative,
// it sets the group, and the owner and the group may read the file.
func writeFileInVersion(dir *os.Root, name string, f volume.File, group int) error {
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if f.Owner != nil {
		if err := dir.Lchown(name, int(*f.Owner), -1); err != nil {
			return fmt.Errorf("it cannot be given to the user %d, as which the containers run: %w", *f.Owner, err)
		}
	}
	mode := os.FileMode(f.Mode)
	if group >= 0 {
		mode |= 0o440
	}
	return setGroupAndMode(dir, name, mode, group)
}

// replaceSymlink makes name a symbolic link to target. It replaces an existing file of this name in one step,
// and does nothing if the link already has the target.
func replaceSymlink(ctx context.Context, dir *os.Root, target, name string) error {
	if current, err := dir.Readlink(name); err == nil && current == target {
		return nil
	}
	if err := osfile.RemoveAll(ctx, dir, linkMade); err != nil {
		return err
	}
	if err := dir.Symlink(target, linkMade); err != nil {
		return err
	}
	return dir.Rename(linkMade, name)
}

// linkFilesAndRemoveOld creates a symbolic link at the top of the volume for each top-level file or directory
// of the current version. It deletes everything else in the volume, including older versions.
func linkFilesAndRemoveOld(ctx context.Context, dir *os.Root, currentVersion string, files []volume.File) error {
	visible := map[string]bool{dataLink: true, currentVersion: true}
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, "/")
		if visible[top] {
			continue
		}
		visible[top] = true
		if err := replaceSymlink(ctx, dir, path.Join(dataLink, top), top); err != nil {
			return err
		}
	}
	entries, err := entryNames(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !visible[entry] {
			if err := osfile.RemoveAll(ctx, dir, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryNames returns the sorted names of all files and directories in a directory.
func entryNames(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.Readdirnames(-1)
	slices.Sort(entries)
	return entries, err
}

// openOrReplaceOwnedPodDir opens or creates the directory of a pod. It writes the pod's namespace and name into
// the owner file if that file is missing. If the owner file names another pod, it moves the directory to the
// trash directory and creates a new one. If allowed is false, it returns ErrVolumesOfAnotherPod instead.
func openOrReplaceOwnedPodDir(pods *os.Root, pod *v1.Pod, allowed discardAllowed) (dir *os.Root, discarded bool, err error) {
	name, owner := string(pod.UID), pod.Namespace+"/"+pod.Name
	if dir, err = makeAndOpenSubdir(pods, name); err != nil {
		return nil, false, err
	}
	recordedOwner, err := readOwner(dir, owner)
	if err == nil && recordedOwner != "" && recordedOwner != owner {
		dir.Close()
		if !allowed {
			return nil, false, fmt.Errorf("%w: the directory belongs to pod %s", podsync.ErrVolumesOfAnotherPod, recordedOwner)
		}
		if err := moveDirToTrashUnmountIfNeeded(pods, name); err != nil {
			return nil, false, err
		}
		discarded, recordedOwner = true, ""
		if dir, err = makeAndOpenSubdir(pods, name); err != nil {
			return nil, true, err
		}
	}
	if err == nil && recordedOwner == "" {
		err = writeOwner(dir, owner)
	}
	if err != nil {
		dir.Close()
		return nil, discarded, err
	}
	return dir, discarded, nil
}

// errDamagedOwnerFile is the error of an owner file that has no name of a pod.
var errDamagedOwnerFile = errors.New("it is damaged: expected the namespace and the name of a pod, as default/web; the volumes stay as they are until it is mended or removed")

// readOwner returns the "namespace/name" in the owner file of a pod's directory. It returns "" if the file does
// not exist. It also returns "" if the file has only the beginning of expectedOwner, because a write was
// interrupted. It returns an error for any other content that is no pod name, so that the data of a running pod
// are not discarded.
func readOwner(dir *os.Root, expectedOwner string) (string, error) {
	const longest = 1024 // Both names together have 317 bytes at most.
	f, err := osfile.OpenFile(dir, ownerFile, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, longest))
	}
	recordedOwner, whole := strings.CutSuffix(string(text), "\n")
	switch {
	case err != nil:
	case recordedOwner == expectedOwner:
		return recordedOwner, nil
	case !whole && strings.HasPrefix(expectedOwner, recordedOwner):
		return "", nil
	case isPodName(recordedOwner):
		return recordedOwner, nil
	default:
		err = errDamagedOwnerFile
	}
	return "", fmt.Errorf("%s: %w", filepath.Join(dir.Name(), ownerFile), err)
}

// isPodName reports whether a text is a valid "namespace/name" of a pod.
func isPodName(text string) bool {
	namespace, name, ok := strings.Cut(text, "/")
	return ok && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// writeOwner writes the owner file of a pod's directory, and replaces an existing one in one step. It does not
// flush the file to disk; after a power failure an empty file counts as missing.
func writeOwner(dir *os.Root, owner string) error {
	if err := dir.Remove(ownerMade); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.OpenFile(ownerMade, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(owner + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(ownerMade, ownerFile)
}
