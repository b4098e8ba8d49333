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

// The names of ours in a volume of files. No file of a pod begins with two
// dots.
const (
	dataLink  = "..data"   // to the version in force
	linkMade  = "..link"   // a link that is about to take its place
	versions  = "..v-"     // a version, by the hash of its files
	immutable = "..fixed-" // one whose objects cannot change
)

// files writes the files of a volume, all at once: to a version of its own, to
// which a link is then turned. Whoever reads sees the old or the new ones.
func (s *setUp) files(ctx context.Context, v *v1.Volume) error {
	dir, err := s.filesDir(ctx, v)
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
	files, err := volume.Files(s.pod, v, s.objects, s.d.cfg.Allocatable)
	if err != nil {
		return err
	}
	group := s.group()
	name := s.version(v, files, group)
	if name != current {
		if err := writeVersion(ctx, dir, name, files, group); err != nil {
			return err
		}
		if err := link(ctx, dir, name, dataLink); err != nil {
			return err
		}
	}
	return tidy(ctx, dir, name, files)
}

func (s *setUp) filesDir(ctx context.Context, v *v1.Volume) (*os.Root, error) {
	if err := s.directory(ctx, v.Name, -1); err != nil {
		return nil, err
	}
	if s.d.cfg.SecretsInMemory && volume.Of(v) != volume.ConfigMap {
		if err := s.secret(v.Name); err != nil {
			return nil, err
		}
	}
	return osfile.OpenSubdir(s.volumes, v.Name)
}

// version names a version after what it holds.
func (s *setUp) version(v *v1.Volume, files []volume.File, group int) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %s %o %d %d\n", len(f.Path), f.Path, f.Mode, group, len(f.Data))
		h.Write(f.Data)
		if f.Owner != nil {
			fmt.Fprintf(h, " of %d", *f.Owner)
		}
	}
	prefix := versions
	if fixed(v, &s.objects) {
		prefix = immutable
	}
	return prefix + hex.EncodeToString(h.Sum(nil)[:16])
}

// fixed reports whether nothing that a volume is made of can change.
func fixed(v *v1.Volume, objects *environ.Objects) bool {
	of := v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{*v}}}
	needs := volume.Needs(&of)
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
	return len(needs) > 0 && !volume.Downward(v) && len(volume.Tokens(&of)) == 0
}

// writeVersion writes all files of a version. One that was left half done is
// begun again.
func writeVersion(ctx context.Context, dir *os.Root, name string, files []volume.File, group int) error {
	if err := osfile.RemoveAll(ctx, dir, name); err != nil {
		return err
	}
	made := map[string]bool{}
	if err := makeDir(dir, name, group); err != nil {
		return err
	}
	for _, f := range files {
		for i := range len(f.Path) {
			if sub := f.Path[:i]; f.Path[i] == '/' && !made[sub] {
				made[sub] = true
				if err := makeDir(dir, name+"/"+sub, group); err != nil {
					return err
				}
			}
		}
		if err := writeFile(dir, name+"/"+f.Path, f, group); err != nil {
			return err
		}
	}
	return nil
}

func makeDir(dir *os.Root, name string, group int) error {
	if err := dir.Mkdir(name, private); err != nil {
		return err
	}
	return give(dir, name, 0o755|groupDir(group), group)
}

func writeFile(dir *os.Root, name string, f volume.File, group int) error {
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
	return give(dir, name, mode, group)
}

// link makes a symbolic link, in the place of one that is there.
func link(ctx context.Context, dir *os.Root, target, name string) error {
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

// tidy makes the files of the version in force visible and removes what is of
// none.
func tidy(ctx context.Context, dir *os.Root, name string, files []volume.File) error {
	visible := map[string]bool{dataLink: true, name: true}
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, "/")
		if visible[top] {
			continue
		}
		visible[top] = true
		if err := link(ctx, dir, path.Join(dataLink, top), top); err != nil {
			return err
		}
	}
	entries, err := names(dir)
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

// names are the entries of a directory, in order.
func names(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.Readdirnames(-1)
	slices.Sort(entries)
	return entries, err
}

// owned opens the directory of a pod below that of all pods, and notes whose it is. A
// UID may come again under another name, if a manifest names it: what the other pod had
// is put aside. A directory that says nothing is new, or of an agent that noted nothing.
func owned(pods *os.Root, pod *v1.Pod, allowed discarding) (dir *os.Root, discarded bool, err error) {
	name, owner := string(pod.UID), pod.Namespace+"/"+pod.Name
	if dir, err = subdir(pods, name); err != nil {
		return nil, false, err
	}
	said, err := ownerOf(dir, owner)
	if err == nil && said != "" && said != owner {
		dir.Close()
		if !allowed {
			return nil, false, fmt.Errorf("%w: the directory belongs to pod %s", podsync.ErrVolumesOfAnotherPod, said)
		}
		if err := discard(pods, name); err != nil {
			return nil, false, err
		}
		discarded, said = true, ""
		if dir, err = subdir(pods, name); err != nil {
			return nil, true, err
		}
	}
	if err == nil && said == "" {
		err = setOwner(dir, owner)
	}
	if err != nil {
		dir.Close()
		return nil, discarded, err
	}
	return dir, discarded, nil
}

// errDamaged is a note of an owner that names no pod.
var errDamaged = errors.New("it is damaged: expected the namespace and the name of a pod, as default/web; the volumes stay as they are until it is mended or removed")

// ownerOf is the pod that a directory was made for; empty if it does not say. What is cut short
// says nothing if it may be of the owner that is expected, and what names no pod is an error: the
// data of a pod that runs are not put aside for that.
func ownerOf(dir *os.Root, expected string) (string, error) {
	const longest = 1024 // Of both names together there are 317 bytes at most.
	f, err := osfile.OpenFile(dir, ownerFile, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, longest))
	}
	said, whole := strings.CutSuffix(string(text), "\n")
	switch {
	case err != nil:
	case said == expected:
		return said, nil
	case !whole && strings.HasPrefix(expected, said):
		return "", nil
	case isPod(said):
		return said, nil
	default:
		err = errDamaged
	}
	return "", fmt.Errorf("%s: %w", filepath.Join(dir.Name(), ownerFile), err)
}

// isPod reports whether a text can be the namespace and the name of a pod.
func isPod(text string) bool {
	namespace, name, ok := strings.Cut(text, "/")
	return ok && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// setOwner notes whose a directory is, whole or not at all. After a power cut the file
// may be empty, and says nothing then.
func setOwner(dir *os.Root, owner string) error {
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
