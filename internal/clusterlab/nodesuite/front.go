package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"

	"sigs.k8s.io/yaml"
)

// The ports of a kubelet.
const (
	kubeletPort  = "10250"
	readOnlyPort = "10255"
	healthPort   = "10248"
)

// front serves the ports of a kubelet for examples/cluster. It permits every request, as the suite configures a kubelet:
// it adds the suite's credentials to the request and forwards it to the node.
type front struct {
	token atomic.Pointer[string]
	proxy *httputil.ReverseProxy
}

// newFront returns a front of the node that listens on the loopback address.
func newFront() *front {
	f := &front{}
	node := &url.URL{Scheme: "https", Host: "127.0.0.1:" + kubeletPort}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(node)
			if token := f.token.Load(); token != nil {
				r.Out.Header.Set("Authorization", "Bearer "+*token)
			}
		},
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // The certificate is self-signed.
		ModifyResponse: rewriteResponse, ErrorLog: log.New(io.Discard, "", 0), FlushInterval: -1,
	}
	return f
}

// useKubeconfig makes the front use the token of a kubeconfig.
func (f *front) useKubeconfig(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config struct {
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(config.Users) == 0 {
		return fmt.Errorf("%s has no user", file)
	}
	f.token.Store(&config.Users[0].User.Token)
	return nil
}

// servePorts starts to serve the ports, until the process exits.
func (f *front) servePorts() error {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS() // The API server of the suite does not verify certificates.
	config := certificate.TLS.Clone()
	certificate.Close()
	config.NextProtos = []string{"http/1.1"} // A connection is upgraded for exec, attach and port-forward.
	l, err := net.Listen("tcp", nodeIP+":"+kubeletPort)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(tls.NewListener(l, config), f.proxy) }()
	for _, address := range []string{"127.0.0.1:" + readOnlyPort, nodeIP + ":" + readOnlyPort, "127.0.0.1:" + healthPort} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() { _ = http.Serve(l, f.proxy) }()
	}
	return nil
}

// rewriteResponse changes responses of the node that the suite cannot read: the configuration lacks the ports of the front,
// and the suite reads a text that is no metric without end.
func rewriteResponse(r *http.Response) error {
	if r.Request.URL.Path == "/metrics/cadvisor" && r.StatusCode != http.StatusOK {
		setBody(r, nil)
		return nil
	}
	return rewriteConfigz(r)
}

// setBody replaces the body of a response.
func setBody(r *http.Response, text []byte) {
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.ContentLength = int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
}

// rewriteConfigz adds the ports of the front to the configuration of the node.
func rewriteConfigz(r *http.Response) error {
	if r.Request.URL.Path != "/configz" || r.StatusCode != http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if config := all["kubeletconfig"]; config != nil {
		config["address"], config["readOnlyPort"], config["cgroupDriver"], config["cgroupRoot"] = "0.0.0.0", 10255, "cgroupfs", "/"
	}
	if text, err = json.Marshal(all); err != nil {
		return err
	}
	setBody(r, text)
	return nil
}
