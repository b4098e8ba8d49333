package volumes

import (
	"errors"
	"io"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
)

// owned opens the directory of a pod below that of all pods, and notes whose it is. A
// UID may come again under another name, if a manifest names it: what the other pod had
// is put aside. A directory that says nothing is new, or of an agent that noted nothing.
func owned(pods *os.Root, pod *v1.Pod) (dir *os.Root, discarded bool, err error) {
	name, owner := string(pod.UID), pod.Namespace+"/"+pod.Name
	if dir, err = subdir(pods, name); err != nil {
		return nil, false, err
	}
	said, err := ownerOf(dir)
	if err == nil && said != "" && said != owner {
		dir.Close()
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

// ownerOf is the pod that a directory was made for; empty if it does not say.
func ownerOf(dir *os.Root) (string, error) {
	const longest = 1024 // Of both names together there are 317 bytes at most.
	f, err := osfile.OpenFile(dir, ownerFile, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longest))
	return string(text), err
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
	_, err = f.WriteString(owner)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(ownerMade, ownerFile)
}
