package podsync

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/runtime"
)

// get makes the request of a hook.
func (s *Syncer) get(ctx context.Context, v *syncPass, h hook) error {
	if s.cfg.HTTP == nil {
		return &hookFailure{"nobody makes requests here", runtime.ErrUnsupported}
	}
	address, err := s.hookURL(v, h)
	if err != nil {
		return &hookFailure{text: err.Error()}
	}
	header := make(http.Header)
	for _, given := range h.handler.HTTPGet.HTTPHeaders {
		header.Add(given.Name, given.Value)
	}
	if err := s.cfg.HTTP.Get(ctx, address, header); err != nil {
		return &hookFailure{"nobody answered its request", err}
	}
	return nil
}

// hookURL is where a hook knocks: the host that it names, or the pod. Its error
// is for everybody.
func (s *Syncer) hookURL(v *syncPass, h hook) (string, error) {
	get := h.handler.HTTPGet
	host := get.Host
	if host == "" {
		host = s.podIP(v, h.id)
	}
	if host == "" {
		return "", errors.New("the pod has no address")
	}
	port, ok := hookPort(get.Port, h.ports)
	if !ok {
		return "", fmt.Errorf("the container has no port %s", get.Port.String())
	}
	path, err := url.Parse(get.Path)
	if err != nil {
		return "", errors.New("its path cannot be read")
	}
	// Only path and query: a path is not allowed to name another host.
	target := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: path.Path, RawPath: path.RawPath, RawQuery: path.RawQuery}
	if strings.EqualFold(string(get.Scheme), string(v1.URISchemeHTTPS)) {
		target.Scheme = "https"
	}
	return target.String(), nil
}

// hookPort finds a port by number, by the name that the container gives it, or
// by a number written as text.
func hookPort(port intstr.IntOrString, ports []v1.ContainerPort) (int, bool) {
	number := port.IntValue()
	for i := range ports {
		if port.Type == intstr.String && ports[i].Name == port.StrVal {
			number = int(ports[i].ContainerPort)
		}
	}
	return number, number >= 1 && number <= 65535
}

// podIP is the address of a container's sandbox, or empty.
func (s *Syncer) podIP(v *syncPass, containerID string) string {
	rec := v.record(containerID)
	for i := range v.status.Sandboxes {
		sandbox := &v.status.Sandboxes[i]
		if rec == nil || sandbox.ID != rec.SandboxID {
			continue
		}
		addresses := sandbox.IPs
		if sandbox.HostNetwork {
			addresses = s.cfg.HostIPs
		}
		if len(addresses) > 0 {
			return addresses[0]
		}
	}
	return ""
}
