package localapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/node"
)

// A node answers kubectl. A program serves the API with TLS by NewCredentials.
func ExampleNew() {
	events, err := localapi.NewEvents("node-1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.New(node.Config{Name: "node-1", Recorder: events})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := localapi.New(localapi.Config{
		Node: n, NodeName: "node-1", Events: events, Finder: n.Containers(), Logs: n.Containers(), Exec: n.Containers(), Attach: n.Containers(), PortForward: n.Containers(),
		Authenticator: localapi.Token("secret"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = n.Run(ctx) }()
	<-n.Ready()
	ended := make(chan error)
	go func() { ended <- api.Run(ctx) }()
	<-api.Ready()
	for _, token := range []string{"guess", "secret"} {
		request := httptest.NewRequest("GET", "/version", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, request)
		fmt.Println(answer.Code, strings.Contains(answer.Body.String(), localapi.Version))
	}
	cancel()
	fmt.Println(<-ended)
	<-n.Done()
	// Output:
	// 401 false
	// 200 true
	// <nil>
}

// A client in the same process asks a node without a listener. Of client-go it is
// kubernetes.NewForConfig(&rest.Config{Host: "http://node", Transport: api.RoundTripper()}). In a
// bubble of testing/synctest the time of the pod passes at once.
func ExampleAPI_RoundTripper() {
	n, err := node.New(node.Config{Name: "node-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := localapi.New(localapi.Config{
		Node: n, NodeName: "node-1", Finder: n.Containers(), Logs: n.Containers(), Writer: n, Saved: localapi.Unsaved{}, Authenticator: localapi.Token(""),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = n.Run(ctx) }()
	ended := make(chan error)
	go func() { ended <- api.Run(ctx) }()
	<-api.Ready()
	client := &http.Client{Transport: api.RoundTripper()}
	manifest := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}`
	created, err := client.Post("http://node/api/v1/namespaces/default/pods", "application/json", strings.NewReader(manifest))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = created.Body.Close()
	watch, err := client.Get("http://node/api/v1/namespaces/default/pods?watch=true&fieldSelector=status.phase%3DRunning")
	if err != nil {
		fmt.Println(err)
		return
	}
	var event struct {
		Type   string
		Object v1.Pod
	}
	err = json.NewDecoder(watch.Body).Decode(&event)
	fmt.Println(created.Status, event.Type, event.Object.Name, event.Object.Status.Phase, err)
	_ = watch.Body.Close()
	cancel()
	fmt.Println(<-ended)
	<-n.Done()
	// Output:
	// 201 Created ADDED web Running <nil>
	// <nil>
}

// The kubeconfig is for kubectl; Marshal and ParseCredentials keep it valid over restarts.
func ExampleNewCredentials() {
	credentials, err := localapi.NewCredentials()
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := credentials.TLS("edge-1.example.org")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := http.Server{TLSConfig: config, Handler: http.NotFoundHandler()}
	fmt.Println(server.TLSConfig.NextProtos, strings.Contains(string(credentials.Kubeconfig("edge-1.example.org:6443")), "https://edge-1.example.org:6443"))
	// Output: [http/1.1] true
}

// A node is served to kubectl, over restarts with the same kubeconfig.
func ExampleNewService() {
	dir, err := os.MkdirTemp("", "edge-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n, err := node.New(node.Config{Name: "edge-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	secrets, err := localapi.KeepCredentials(filepath.Join(dir, "credentials.json"))
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := localapi.New(localapi.Config{Node: n, NodeName: "edge-1", Finder: n.Containers(), Authenticator: localapi.Token(secrets.Token)})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	service, err := localapi.NewService(localapi.ServiceConfig{API: api, Listener: listener, Credentials: secrets, Kubeconfig: kubeconfig})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = n.Run(ctx) }()
	ended := make(chan error)
	go func() { ended <- service.Run(ctx) }()
	<-api.Ready() // Now: kubectl --kubeconfig FILE get pods
	info, err := os.Stat(kubeconfig)
	fmt.Println(info.Mode(), err, service.Address() == listener.Addr().String())
	cancel()
	fmt.Println(<-ended)
	<-n.Done()
	// Output:
	// -rw------- <nil> true
	// <nil>
}
