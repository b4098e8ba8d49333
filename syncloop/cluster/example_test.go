package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http/httptest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// A node joins an API server and runs a pod that is bound to it. With a real server,
// client.FromKubeconfig takes the place of the one in memory.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	n, err := cluster.New(cluster.Config{Server: server.Client("node-1"), Node: node.Config{Name: "node-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "web", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for state := range n.Node().Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodRunning {
			break
		}
	}
	cancel()
	fmt.Println(<-done)
	fmt.Println(server.Admin().Pod("default", "web").Status.Phase)
	// Output:
	// <nil>
	// Running
}

// What kubectl logs and exec ask a node is served with TLS on Config.Port. In a real program
// an http.Server does that, with a certificate, tls.RequestClientCert as its ClientAuth, and
// a BaseContext that ends the streams; clientCAs returns what signs the API server's client
// certificate.
func ExampleNode_Handler() {
	api := apiservertest.New(apiservertest.Config{})
	n, err := cluster.New(cluster.Config{Server: api.Client("node-1"), Port: 10250, Node: node.Config{Name: "node-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	clientCAs := x509.NewCertPool()
	handler, err := n.Handler(func() *x509.CertPool { return clientCAs })
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/containerLogs/default/web/web")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 401 Unauthorized
}
