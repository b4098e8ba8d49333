package client_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// served is a client of a TLS server that speaks HTTP/2, and the requests that it has
// sent, each with the connection it came by.
type served struct {
	*client.Client
	server *httptest.Server

	mu          sync.Mutex
	requests    []string
	connections map[string]bool
}

func serve(t *testing.T, answer http.HandlerFunc) *served {
	s := &served{connections: map[string]bool{}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Proto+" "+r.Method+" "+r.URL.String())
		s.connections[r.RemoteAddr] = true
		s.mu.Unlock()
		answer(w, r)
	}))
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	c, err := client.New(&rest.Config{Host: s.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: "example.com"}}, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	s.Client = c
	return s
}

func (s *served) seen() (requests []string, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, len(s.connections)
}

// codec encodes as a server does.
type codec struct {
	serializer.CodecFactory
	info runtime.SerializerInfo
}

func newCodec(t *testing.T) codec {
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	c := codec{CodecFactory: serializer.NewCodecFactory(scheme)}
	var ok bool
	c.info, ok = runtime.SerializerInfoForMediaType(c.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	require.True(t, ok)
	return c
}

func (c codec) object(o runtime.Object) []byte {
	var out bytes.Buffer
	if err := c.EncoderForVersion(c.info.Serializer, v1.SchemeGroupVersion).Encode(o, &out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (c codec) write(w http.ResponseWriter, o runtime.Object) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(c.object(o)) // The client says what it has got.
}

// events writes a stream: pairs of a type and an object.
func (c codec) events(w http.ResponseWriter, pairs ...any) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	stream := streaming.NewEncoder(c.info.StreamSerializer.Framer.NewFrameWriter(w), c.EncoderForVersion(c.info.StreamSerializer.Serializer, v1.SchemeGroupVersion))
	for i := 0; i < len(pairs); i += 2 {
		e := &metav1.WatchEvent{Type: pairs[i].(string), Object: runtime.RawExtension{Raw: c.object(pairs[i+1].(runtime.Object))}}
		if err := stream.Encode(e); err != nil {
			return
		}
	}
	_ = http.NewResponseController(w).Flush() // As above.
}

func pod(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}

func TestClient_NothingIsRepeated(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "busy", http.StatusTooManyRequests)
	})
	_, errGet := s.Pods().Get(t.Context(), "default", "a")
	_, errList := s.PodFeed().List(t.Context(), "")
	_, errWatch := s.PodFeed().Watch(t.Context(), apiserver.WatchOptions{SendInitialEvents: true})
	for _, err := range []error{errGet, errList, errWatch} {
		assert.Equal(t, metav1.StatusReasonTooManyRequests, apierrors.ReasonForError(err), "%v", err)
		seconds, ok := apierrors.SuggestsClientDelay(err)
		assert.True(t, ok)
		assert.Equal(t, 7, seconds)
	}
	requests, _ := s.seen()
	assert.Equal(t, []string{
		"HTTP/2.0 GET /api/v1/namespaces/default/pods/a",
		"HTTP/2.0 GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
		"HTTP/2.0 GET /api/v1/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn1&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true",
	}, requests)
}

// CF-18, VC-30: what a node may read is what each feed selects.
func TestClient_CF18_VC30_EachFeedSelects(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) })
	o := s.Objects()
	_, _ = s.NodeFeed().List(t.Context(), "") // Each request is refused; only the requests count.
	_, _ = o.ConfigMap("ns", "conf").List(t.Context(), "")
	_, _ = o.Secret("ns", "key").List(t.Context(), "")
	_, _ = o.Services().List(t.Context(), "")
	_, _ = o.RuntimeClasses().List(t.Context(), "")
	requests, _ := s.seen()
	assert.Equal(t, []string{
		"HTTP/2.0 GET /api/v1/nodes?fieldSelector=metadata.name%3Dn1",
		"HTTP/2.0 GET /api/v1/namespaces/ns/configmaps?fieldSelector=metadata.name%3Dconf",
		"HTTP/2.0 GET /api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dkey",
		"HTTP/2.0 GET /api/v1/services?fieldSelector=spec.clusterIP%21%3DNone%2Cspec.clusterIP%21%3D",
		"HTTP/2.0 GET /apis/node.k8s.io/v1/runtimeclasses",
	}, requests)
}

// IN-4: what hangs ends with its context, does not block the heartbeat, and has the next
// call get another connection.
func TestClient_AHangingConnection(t *testing.T) {
	arrived := make(chan bool, 1)
	c := newCodec(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/nodes/hangs":
			arrived <- true
			<-r.Context().Done()
		case "/api/v1/nodes/n1":
			c.write(w, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		default:
			http.NotFound(w, r)
		}
	})
	_, err := s.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
	_, connections := s.seen()
	assert.Equal(t, 1, connections)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := s.Nodes().Get(ctx, "hangs"); ended <- err }()
	<-arrived
	_, err = s.Leases().Get(t.Context(), "n1")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, connections = s.seen()
	assert.Equal(t, 2, connections, "the heartbeat has its own")
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)

	_, err = s.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
	_, connections = s.seen()
	assert.Equal(t, 2, connections, "a caller that gives up is no failure of the connection")
	s.Reconnect()
	_, err = s.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
	_, connections = s.seen()
	assert.Equal(t, 3, connections)
}

// IN-4: a broken connection is not used again.
func TestClient_ABrokenConnection(t *testing.T) {
	c := newCodec(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/nodes/breaks" {
			panic(http.ErrAbortHandler)
		}
		c.write(w, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	})
	_, err := s.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
	_, err = s.Nodes().Get(t.Context(), "breaks")
	require.Error(t, err)
	assert.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err))
	_, err = s.Nodes().Get(t.Context(), "n1")
	require.NoError(t, err)
	_, connections := s.seen()
	assert.Equal(t, 2, connections)
}

func TestClient_Stream(t *testing.T) {
	c := newCodec(t)
	cut := make(chan bool)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("resourceVersion") {
		case "":
			end := pod("", "8")
			end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			c.events(w, "ADDED", pod("a", "7"), "BOOKMARK", end, "DELETED", pod("a", "9"))
		case "9":
			gone := apierrors.NewResourceExpired("too old")
			c.events(w, "ERROR", &gone.ErrStatus)
		case "10":
			c.events(w, "MODIFIED", pod("a", "11"))
			<-cut
			panic(http.ErrAbortHandler)
		default:
			c.events(w)
			<-r.Context().Done()
		}
	})
	watch := func(version string) apiserver.Stream[*v1.Pod] {
		opts := apiserver.WatchOptions{ResourceVersion: version, SendInitialEvents: version == ""}
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := s.PodFeed().Watch(ctx, opts)
		cancel() // It bounds the beginning only.
		require.NoError(t, err)
		t.Cleanup(stream.Close)
		return stream
	}
	stream := watch("")
	for _, want := range []apiserver.Event[*v1.Pod]{
		{Type: apiserver.Added, ResourceVersion: "7", Object: pod("a", "7")},
		{Type: apiserver.Bookmark, ResourceVersion: "8", InitialEventsEnd: true},
		{Type: apiserver.Deleted, ResourceVersion: "9", Object: pod("a", "9")},
	} {
		e, err := stream.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, e)
	}
	_, err := stream.Next(t.Context())
	assert.Equal(t, io.EOF, err)

	_, err = watch("9").Next(t.Context())
	assert.True(t, apierrors.IsResourceExpired(err), "%v", err)

	stream = watch("10")
	_, err = stream.Next(t.Context())
	require.NoError(t, err)
	close(cut)
	_, err = stream.Next(t.Context())
	require.Error(t, err)
	assert.NotErrorIs(t, err, io.EOF, "a broken connection is no regular end")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stream = watch("12")
	_, err = stream.Next(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// ST-32: the server calls another UID invalid.
func TestClient_AnotherUIDIsAConflict(t *testing.T) {
	c := newCodec(t)
	field := "metadata.uid"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write(c.object(&metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: "immutable",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field}}},
		})) // As above.
	})
	ref := apiserver.PodRef{Namespace: "default", Name: "a", UID: "u"}
	_, err := s.Pods().PatchStatus(t.Context(), ref, []byte(`{}`))
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	field = "status.podIPs"
	_, err = s.Pods().PatchStatus(t.Context(), ref, []byte(`{}`))
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
}

func TestNew_RefusesWhatItCannotUse(t *testing.T) {
	_, err := client.New(nil, "n1")
	assert.EqualError(t, err, "client: a configuration and the name of the node are required")
	_, err = client.New(&rest.Config{}, "")
	assert.EqualError(t, err, "client: a configuration and the name of the node are required")
	_, err = client.New(&rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/no/such/ca"}}, "n1")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = client.FromKubeconfig("", "n1")
	assert.EqualError(t, err, "client: the path of a kubeconfig is required")
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}`), 0o600))
	_, err = client.FromKubeconfig(path, "n1")
	assert.NoError(t, err)
}

// TestClient_Shared: the clients of several nodes share connections and their count, each
// asks for its own pods, and one that impersonates says which node it acts as.
func TestClient_Shared(t *testing.T) {
	c := newCodec(t)
	var users []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		users = append(users, r.Header.Get("Impersonate-User")+" "+r.Header.Get("Impersonate-Group"))
		c.write(w, &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	})
	other, err := s.ForNode("n2")
	require.NoError(t, err)
	acting, err := s.Impersonate("n3")
	require.NoError(t, err)
	for _, one := range []*client.Client{s.Client, other, acting} {
		_, err := one.PodFeed().List(t.Context(), "")
		require.NoError(t, err)
	}
	requests, connections := s.seen()
	assert.Equal(t, []string{
		"HTTP/2.0 GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
		"HTTP/2.0 GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn2",
		"HTTP/2.0 GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn3",
	}, requests)
	assert.Equal(t, []string{" ", " ", "system:node:n3 system:nodes"}, users)
	assert.Equal(t, 1, connections)
	assert.Equal(t, int64(3), s.Requests())
	assert.Equal(t, int64(3), acting.Requests())
	_, err = s.ForNode("")
	assert.Error(t, err)
	_, err = s.Impersonate("")
	assert.Error(t, err)
}

// IN-4: a crowd of calls opens one connection and not one each, also if the first attempts
// fail; a call that got no connection does not have the others get another one.
func TestClient_ACrowd(t *testing.T) {
	c := newCodec(t)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		c.write(w, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	})
	var dials, failures atomic.Int32
	cfg := &rest.Config{Host: s.server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) <= 3 {
			return nil, io.ErrUnexpectedEOF
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	crowd, err := client.New(cfg, "n1")
	require.NoError(t, err)
	t.Cleanup(crowd.Reconnect)
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if _, err := crowd.Nodes().Get(t.Context(), "n1"); err != nil {
				failures.Add(1)
			}
		})
	}
	calls.Wait()
	assert.Equal(t, int32(3), failures.Load())
	_, connections := s.seen()
	assert.Equal(t, 1, connections)
	assert.Equal(t, int32(4), dials.Load())
}

// TestLocalAddress: it is the address of the interface towards the server, and asks no server.
func TestLocalAddress(t *testing.T) {
	for host, want := range map[string]string{"https://127.0.0.1:1": "127.0.0.1", "https://[::1]:1": "::1"} {
		c, err := client.New(&rest.Config{Host: host}, "n1")
		require.NoError(t, err)
		ip, err := c.LocalAddress(t.Context())
		if err != nil && want == "::1" {
			continue // A machine without IPv6.
		}
		require.NoError(t, err)
		assert.Equal(t, want, ip.String(), host)
	}
	c, err := client.New(&rest.Config{Host: "https://no.such.host.invalid"}, "n1")
	require.NoError(t, err)
	_, err = c.LocalAddress(t.Context())
	assert.ErrorContains(t, err, "client: ")
}

func TestFromKubeconfig_Empty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := client.FromKubeconfig(path, "n1")
	assert.EqualError(t, err, "client: "+path+" has no current context that names a cluster")
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestKubeconfig_Wrap: the wrapper of the configuration's transport gets every request, also requests for the lease,
// which use separate connections.
func TestKubeconfig_Wrap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}`), 0o600))
	cfg, err := client.Kubeconfig(path)
	require.NoError(t, err)
	var asked []string
	cfg.Wrap(func(http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Path)
			return nil, errors.New("no server")
		})
	})
	c, err := client.New(cfg, "n1")
	require.NoError(t, err)
	_, err = c.Pods().Get(t.Context(), "default", "a")
	require.ErrorContains(t, err, "no server")
	_, err = c.Leases().Get(t.Context(), "n1")
	require.ErrorContains(t, err, "no server")
	assert.Equal(t, []string{"/api/v1/namespaces/default/pods/a", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"}, asked)
}

// TestFromKubeconfig_Refused: what cannot be read to its end, and a server that cannot be asked,
// is refused at once.
func TestFromKubeconfig_Refused(t *testing.T) {
	dir := t.TempDir()
	_, err := client.FromKubeconfig(dir, "n1")
	assert.EqualError(t, err, "client: the kubeconfig "+dir+" is not a regular file")
	_, err = client.FromKubeconfig("/dev/zero", "n1")
	assert.EqualError(t, err, "client: the kubeconfig /dev/zero is not a regular file")
	_, err = client.FromKubeconfig(filepath.Join(dir, "none"), "n1")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	big := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(big, make([]byte, 4<<20+1), 0o600))
	_, err = client.FromKubeconfig(big, "n1")
	assert.EqualError(t, err, "client: the kubeconfig "+big+" has 4194305 bytes, more than 4194304")
	bomb := filepath.Join(dir, "bomb")
	require.NoError(t, os.WriteFile(bomb, []byte("a: &a ["+strings.Repeat("x,", 30_000)+"]\nb: ["+strings.Repeat("*a,", 30_000)+"]\n"), 0o600))
	_, err = client.FromKubeconfig(bomb, "n1")
	assert.EqualError(t, err, "client: the kubeconfig "+bomb+" cannot be read: line 2: more than 200000 values once aliases are written out")
	_, err = client.New(&rest.Config{Host: "ftp://server"}, "n1")
	assert.EqualError(t, err, "client: the API server's address ftp://server begins with neither https:// nor http://")
}
