package nodetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// fakeVolumes has the objects and the volumes of the nodes of stories. The worlds of a
// story have them one after the other.
type fakeVolumes struct {
	*inmemory.Volumes
	objects *objects.Map
	names   map[[2]string]bool // kind and name of each object
	spoke   map[types.UID]bool // pods with termination message
}

func newFakeVolumes() *fakeVolumes {
	m := objects.NewMap()
	return &fakeVolumes{Volumes: inmemory.New(inmemory.Config{Objects: m}), objects: m, names: map[[2]string]bool{}, spoke: map[types.UID]bool{}}
}

// removeObjects removes all objects and volumes at the start of a story.
func (s *fakeVolumes) removeObjects() {
	for at := range s.names {
		s.deleteObject(at[0], at[1])
	}
	for uid := range s.spoke {
		_ = s.TearDown(context.Background(), uid)
	}
}

// runCommand runs a line of a story that is about objects or termination messages. It returns false for another line.
func (s *fakeVolumes) runCommand(t *testing.T, w nodetest.Harness, words []string) bool {
	t.Helper()
	switch verb := words[0]; {
	case verb == "configmap" || verb == "secret":
		s.putObject(verb, words[1], words[2:])
	case verb == "words":
		s.writeTerminationMessage(t, w, words[1], words[2], strings.ReplaceAll(strings.Join(words[3:], " "), `\n`, "\n"), nil)
	case verb == "no" && words[1] == "words":
		s.writeTerminationMessage(t, w, words[2], words[3], "", errors.New("it is a fifo"))
	case verb == "file":
		s.spoke[types.UID(words[1])] = true
		s.WriteVolumeFile(types.UID(words[1]), words[2], words[3], strings.ReplaceAll(strings.Join(words[4:], " "), `\n`, "\n"), nil)
	case verb == "no" && words[1] == "file":
		s.WriteVolumeFile(types.UID(words[2]), words[3], words[4], "", errors.New("it is a fifo"))
	case verb == "no":
		s.deleteObject(words[1], words[2])
	default:
		return false
	}
	return true
}

func (s *fakeVolumes) putObject(kind, name string, keys []string) {
	s.names[[2]string{kind, name}] = true
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	texts, bytes := map[string]string{}, map[string][]byte{}
	for _, entry := range keys {
		key, value, _ := strings.Cut(entry, "=")
		texts[key], bytes[key] = value, []byte(value)
	}
	if kind == "secret" {
		s.objects.ApplySecret(&v1.Secret{ObjectMeta: meta, Data: bytes})
		return
	}
	s.objects.ApplyConfigMap(&v1.ConfigMap{ObjectMeta: meta, Data: texts})
}

func (s *fakeVolumes) deleteObject(kind, name string) {
	if kind == "secret" {
		s.objects.DeleteSecret("default", name)
		return
	}
	s.objects.DeleteConfigMap("default", name)
}

// writeTerminationMessage writes the termination message of the newest attempt of a container.
func (s *fakeVolumes) writeTerminationMessage(t *testing.T, w nodetest.Harness, pod, container, text string, err error) {
	t.Helper()
	id := newestContainer(t, w, pod, container)
	for _, p := range w.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.ID == id {
				s.spoke[p.UID] = true
				s.WriteTerminationLog(p.UID, container, c.Attempt, text, err)
			}
		}
	}
	require.NotEmpty(t, id)
}
