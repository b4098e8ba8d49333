package podhttp

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Target returns the URL of a request to a host. Only the path and the query of path are used, so that path cannot name
// another host. The scheme is http unless the argument is HTTPS.
func Target(scheme v1.URIScheme, host string, port int, path string) (*url.URL, error) {
	parsed, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	target := &url.URL{
		Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port)),
		Path: parsed.Path, RawPath: parsed.RawPath, RawQuery: parsed.RawQuery,
	}
	if strings.EqualFold(string(scheme), string(v1.URISchemeHTTPS)) {
		target.Scheme = "https"
	}
	return target, nil
}

// ResolvePort returns the number of a port, which is given as a number or as the name of a container port. A string is
// always a name, even if it has only digits. The result is false if there is no such port.
func ResolvePort(port intstr.IntOrString, ports []v1.ContainerPort) (int, bool) {
	number := 0
	if port.Type == intstr.Int {
		number = port.IntValue()
	}
	for i := range ports {
		if port.Type == intstr.String && ports[i].Name == port.StrVal {
			number = int(ports[i].ContainerPort)
			break
		}
	}
	return number, number >= 1 && number <= 65535
}
