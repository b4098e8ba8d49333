package localapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

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
		Node: n, NodeName: "node-1", Events: events, Finder: n, Logs: n, Exec: n, Attach: n, PortForward: n,
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
