//go:build linux

package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// getText sends one GET request to a web server and returns the body.
func getText(address string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	return string(text), err
}

// A port of the host leads to the pod, to a sidecar of it too.
func hostPort(s *scene) {
	_, port, err := net.SplitHostPort(e2e.FreePort(s))
	require.NoError(s, err)
	_, beside, err := net.SplitHostPort(e2e.FreePort(s))
	require.NoError(s, err)
	s.writePod("port", `
terminationGracePeriodSeconds: 2
initContainers:
- name: side
  image: IMAGE
  restartPolicy: Always
  command: [sh, -c, 'echo beside > /www/index.html; httpd -p 8081 -h /www; trap "exit 0" TERM; sleep 100000 & wait']
  ports: [{containerPort: 8081, hostPort: BESIDE}]
  readinessProbe: {tcpSocket: {port: 8081}, periodSeconds: 1}
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'echo served > /www/index.html; httpd -p 8080 -h /www; trap "exit 0" TERM; sleep 100000 & wait']
  ports: [{containerPort: 8080, hostPort: PORT}]
  readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`, "PORT="+port, "BESIDE="+beside)
	p := s.awaitReady("port")
	require.NotEmpty(s, p.Status.HostIP)
	answer, err := getText(p.Status.PodIP + ":8080")
	require.NoError(s, err)
	assert.Equal(s, "served\n", answer)
	answer, err = getText(p.Status.HostIP + ":" + port)
	require.NoError(s, err)
	assert.Equal(s, "served\n", answer)
	answer, err = getText(p.Status.HostIP + ":" + beside)
	require.NoError(s, err, "a sidecar's")
	assert.Equal(s, "beside\n", answer)
	s.removePod("port")
	_, err = getText(p.Status.HostIP + ":" + port)
	require.Error(s, err)
}

// A pod in the host's network has the host's address, and its interfaces.
func hostNetwork(s *scene) {
	s.writePod("host-network", `
hostNetwork: true
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`)
	p := s.awaitReady("host-network")
	assert.NotEmpty(s, p.Status.HostIP)
	assert.Equal(s, p.Status.HostIP, p.Status.PodIP)
	assert.Equal(s, cri.NamespaceMode_NODE, s.onlySandbox("host-network").Linux.Namespaces.Options.Network)
	ours, err := os.Readlink("/proc/self/ns/net")
	require.NoError(s, err)
	assert.Equal(s, ours, s.runScript("host-network", "web", "readlink /proc/self/ns/net"))
	s.removePod("host-network")
}

// A pod has its name, the names of its hosts file and its resolver.
func checkNames(s *scene) {
	s.writePod("names", `
hostname: shop
subdomain: market
dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53], searches: [example.org], options: [{name: ndots, value: "3"}]}
hostAliases: [{ip: 192.0.2.7, hostnames: [seven, seven.example.org]}]
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`)
	p := s.awaitReady("names")
	assert.Equal(s, "shop", s.runScript("names", "web", "hostname"))
	hosts := s.runScript("names", "web", "cat /etc/hosts")
	assert.Contains(s, strings.Fields(lineWithWord(hosts, p.Status.PodIP)), "shop")
	assert.Equal(s, []string{"192.0.2.7", "seven", "seven.example.org"}, strings.Fields(lineWithWord(hosts, "192.0.2.7")))
	assert.Equal(s, "search example.org\nnameserver 192.0.2.53\noptions ndots:3", s.runScript("names", "web", "cat /etc/resolv.conf"))
	s.removePod("names")
}

// Pods without a cluster resolve names as the host does, and with what they add.
func checkResolver(s *scene) {
	s.writePod("resolver", `
dnsConfig: {searches: [pod.example], options: [{name: ndots, value: "2"}]}
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`)
	s.writePod("resolver-host", `
dnsPolicy: Default
hostNetwork: true
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`)
	s.awaitReady("resolver")
	assert.Equal(s, "search host.example pod.example\nnameserver 192.0.2.1\noptions ndots:2 rotate", s.runScript("resolver", "web", "cat /etc/resolv.conf"))
	s.awaitReady("resolver-host")
	assert.Equal(s, "search host.example\nnameserver 192.0.2.1\noptions ndots:1 rotate", s.runScript("resolver-host", "web", "cat /etc/resolv.conf"))
	s.removePod("resolver")
	s.removePod("resolver-host")
}

// lineWithWord returns the line of a text whose first word is word.
func lineWithWord(text, word string) string {
	for l := range strings.Lines(text) {
		if fields := strings.Fields(l); len(fields) > 0 && fields[0] == word {
			return l
		}
	}
	return ""
}
