package server_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
)

// HS-21: a request reaches the pod that was found for it, by its UID, and never another pod of the
// same name: neither the successor of the pod whose UID the path has, nor the pod that still
// terminates while its successor has no container yet.
func TestResolve_HS21_OncePerRequest(t *testing.T) {
	h := serve(t)
	old, successor := web(), web()
	old.UID, old.DeletionTimestamp = "old", &metav1.Time{}
	successor.UID = "new"
	h.config.Pods = func() []*v1.Pod { return []*v1.Pod{old, successor} }
	h.process = func(context.Context, runtime.Streams) (int32, error) { return 0, nil }
	h.forward = func(context.Context, runtime.PortForwardRequest, io.ReadWriteCloser) error { return nil }
	h.read = func(context.Context, runtime.ReadLogRequest, io.Writer) error { return nil }
	h.start()
	for path, want := range map[string]string{
		"/exec/default/web/c?command=ls&output=1":     `exec new/c ["ls"] tty=false 1 streams`,
		"/exec/default/web/old/c?command=ls&output=1": `exec old/c ["ls"] tty=false 1 streams`,
		"/exec/default/web/new/c?command=ls&output=1": `exec new/c ["ls"] tty=false 1 streams`,
		"/attach/default/web/c?output=1":              `attach new/c tty=false 1 streams`,
		"/attach/default/web/old/c?output=1":          `attach old/c tty=false 1 streams`,
	} {
		c := h.exec(path)
		status, out := c.stream("error"), c.stream("stdout")
		_ = all(t, out)
		assert.Equal(t, "Success", ended(t, status), path)
		require.NoError(t, c.Close())
		assert.Equal(t, []string{want}, h.seen(), path)
	}
	for path, want := range map[string]string{
		"/portForward/default/web": "forward sandbox of new 80", "/portForward/default/web/old": "forward sandbox of old 80",
	} {
		c, answer := h.dial(path, "portforward.k8s.io")
		require.NotNil(t, c, answer)
		fault, data := c.connection("0", "80")
		_, _ = all(t, fault), all(t, data)
		require.NoError(t, c.Close())
		assert.Equal(t, []string{want}, h.seen(), path)
	}
	_, _ = h.ask("GET", "/containerLogs/default/web/c")
	assert.Equal(t, []string{"log of new/c tail=0 follow=false since=00:00:00 timestamps=false"}, h.seen())
}
