package localapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// refusing is a PortForwarder whose ports refuse connections.
type refusing struct{}

func (refusing) PortForward(_ context.Context, _ runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	return errors.Join(conn.Close(), errors.New("memory: refused"))
}

// printing is an ExecStreamer whose commands print their arguments.
type printing struct{}

func (printing) ExecStream(_ context.Context, req runtime.ExecStreamRequest, streams runtime.Streams) (int32, error) {
	_, err := io.WriteString(streams.Stdout, strings.Join(req.Command, " "))
	return 0, err
}

// withSandbox is a Finder whose pods have a sandbox.
type withSandbox struct{ *harness }

func (withSandbox) PodSandboxID(context.Context, types.UID) (string, error) { return "sandbox", nil }

// TestWebSocket: commands and ports stream over a WebSocket, as kubectl asks by default. The ports of the API are the
// port parameter of a node.
func TestWebSocket(t *testing.T) {
	h := newHarness(t)
	h.config.Exec, h.config.PortForward, h.config.Finder = printing{}, refusing{}, withSandbox{h}
	h.startServer(newPod("default", "a")).waitForPods()
	for _, c := range []struct{ path, protocol, want string }{
		{"exec?command=echo&command=hi&stdout=true", "v5.channel.k8s.io", "101 v5.channel.k8s.io \x82\x01\x01\x82\x08\x01echo hi\x82\x23\x03{\"metadata\":{},\"status\":\"Success\"}\x88\x02\x03\xe8"},
		{"portforward?ports=80", "v4.channel.k8s.io", "101 v4.channel.k8s.io \x82\x03\x00P\x00\x82\x03\x01P\x00\x82\x08\x01refused\x88\x02\x03\xe8"},
		{"portforward?ports=80&ports=0", "v4.channel.k8s.io", `400  {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"query parameter \"port\" has \"0\", which is no port from 1 to 65535","reason":"BadRequest","code":400}` + "\n"},
		{"portforward", "v4.channel.k8s.io", `400  {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"query parameter \"port\" is required","reason":"BadRequest","code":400}` + "\n"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/api/v1/namespaces/default/pods/a/"+c.path, nil)
		require.NoError(t, err)
		r.Header = http.Header{
			"Authorization": {"Bearer " + token}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {c.protocol},
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		sent, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, c.want, fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Sec-Websocket-Protocol"), " ", string(sent)))
	}
}
