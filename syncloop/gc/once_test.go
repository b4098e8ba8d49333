package gc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/gc"
)

// TestRun_IsCalledOnce: a second Run of each collector returns an error, also after the first has
// returned.
func TestRun_IsCalledOnce(t *testing.T) {
	machine := memory.New(memory.Config{})
	manager, err := images.New(images.Config{Images: machine})
	require.NoError(t, err)
	all := map[string]interface{ Run(context.Context) error }{}
	no := func(types.UID) bool { return false }
	all["pods"], err = gc.NewPods(gc.PodsConfig{Runtime: machine, Removable: no})
	require.NoError(t, err)
	all["containers"], err = gc.NewContainers(gc.ContainersConfig{Runtime: machine, Seen: observed{Runtime: machine}, Living: no})
	require.NoError(t, err)
	all["images"], err = gc.NewImages(gc.ImagesConfig{Runtime: machine, Images: manager, Seen: observed{Runtime: machine}})
	require.NoError(t, err)
	all["directories"], err = gc.NewDirectories(gc.DirectoriesConfig{Store: disk{func(types.UID) {}}, Runtime: machine, Gone: no})
	require.NoError(t, err)
	l := newPrinter()
	all["logs"], err = gc.NewLogs(gc.LogsConfig{Store: l, Runtime: l, Seen: l})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, collector := range all {
		require.NoError(t, collector.Run(ctx), name)
		err := collector.Run(t.Context())
		assert.ErrorIs(t, err, runtime.ErrSecondRun, name)
		assert.EqualError(t, err, "gc: Run was called a second time", name)
	}
}
