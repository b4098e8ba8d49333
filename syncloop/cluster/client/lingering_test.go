package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// TestWatch_ConnectionsOfFailedStreams: the connection of a stream that has failed is closed soon,
// and not when it has been idle for long: a server that breaks each watch would fill the files of
// the process.
func TestWatch_ConnectionsOfFailedStreams(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		_, _ = w.Write([]byte("\x00\x00\x00\x05garba"))
	}))
	closed := make(chan struct{}, 100)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c, err := client.New(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, "n1")
	require.NoError(t, err)
	defer c.Reconnect()
	const watches = 20
	for range watches {
		stream, err := c.PodFeed().Watch(t.Context(), apiserver.WatchOptions{ResourceVersion: "1"})
		require.NoError(t, err)
		_, err = stream.Next(t.Context())
		require.Error(t, err)
		stream.Close()
	}
	for range watches {
		<-closed
	}
}
