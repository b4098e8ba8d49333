package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/poduid"
	"github.com/podkeel/podkeel/podworkers/podsync/podstatus"
)

// ending is how one pod has ended, as it is in its file.
type ending struct {
	header
	Status v1.PodStatus `json:"status"`
}

// version is that of files that are written. Others are not read: how they were
// meant is not known.
const version = 1

const extension = ".json"

// fileName is the name of a pod's file.
func fileName(uid types.UID) (string, error) {
	if err := poduid.Check(uid); err != nil {
		return "", err
	}
	return string(uid) + extension, nil
}

// temporary is the name of a file that is being written.
func temporary(name string) string { return "." + strings.TrimSuffix(name, extension) }

func encode(pod *v1.Pod, status *v1.PodStatus) ([]byte, error) {
	e := ending{header: headerOf(pod), Status: *status}
	text, err := json.Marshal(&e)
	if err == nil && len(text) > MaxSize {
		e.Status.InitContainerStatuses, e.Status.ContainerStatuses, e.Status.EphemeralContainerStatuses = nil, nil, nil
		text, err = json.Marshal(&e)
	}
	if err == nil && len(text) > MaxSize {
		return nil, tooLarge()
	}
	return text, err
}

func decode(name string, text []byte) (types.UID, *ending, error) {
	var e ending
	if err := json.Unmarshal(text, &e); err != nil {
		return "", nil, err
	}
	if err := e.check(name); err != nil {
		return "", nil, err
	}
	if !podstatus.IsTerminal(e.Status.Phase) {
		return "", nil, fmt.Errorf("its phase is %.20q: expected Succeeded or Failed", string(e.Status.Phase))
	}
	return e.UID, &e, nil
}

func tooLarge() error { return fmt.Errorf("it has more than %d bytes", MaxSize) }

// list returns the names of all files that should be terminal statuses, in order, and removes
// what was not finished.
func list(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(2 * MaxFiles)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") && e.Type().IsRegular():
			_ = root.Remove(name)
		case strings.HasSuffix(name, extension):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if err == nil && (len(names) > MaxFiles || len(entries) == 2*MaxFiles) {
		names, err = names[:min(len(names), MaxFiles)], fmt.Errorf("there are more than %d of them", MaxFiles)
	}
	return names, err
}

// write puts a whole file in its place. What lies there, a link too, is replaced.
func write(root *os.Root, name string, text []byte) error {
	hidden := temporary(name)
	_ = root.Remove(hidden) // Of a write that was cut short.
	f, err := root.OpenFile(hidden, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(hidden, name)
	}
	if err != nil {
		_ = root.Remove(hidden)
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	_ = dir.Sync() // Not every system can; without it a power cut may lose the file.
	return dir.Close()
}
