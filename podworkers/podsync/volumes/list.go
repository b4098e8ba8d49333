package volumes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/poduid"
)

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
			if uid := types.UID(e.Name()); e.IsDir() && poduid.Valid(uid) && len(uids) < limit && of(uid) {
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
