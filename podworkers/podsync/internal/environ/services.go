package environ

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// apiServerService is the name of the API server's service. Its variables are in every container.
const apiServerService = "kubernetes"

// setServiceVariables sets the variables of the services that have a cluster IP. These are the services in the
// pod's namespace and the service "kubernetes" in the namespace default. If enableServiceLinks is false, it
// leaves out the services in the pod's namespace. If the pod's namespace also has a service "kubernetes", that
// service takes precedence.
func (r *resolution) setServiceVariables() error {
	chosen := map[string]*v1.Service{}
	links := r.Pod.Spec.EnableServiceLinks
	for _, s := range r.Services {
		own := s.Namespace == r.Pod.Namespace && (links == nil || *links)
		master := s.Namespace == v1.NamespaceDefault && s.Name == apiServerService
		if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != v1.ClusterIPNone && (own || master && chosen[s.Name] == nil) {
			chosen[s.Name] = s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if err := r.setVariablesOfService(chosen[name]); err != nil {
			return fmt.Errorf("the variables of the service %s: %w", printableName(name), err)
		}
	}
	return nil
}

// setVariablesOfService sets the variables of one service: NAME_SERVICE_HOST, NAME_SERVICE_PORT and its named
// ports, and the variables of each port in the format of Docker links.
func (r *resolution) setVariablesOfService(s *v1.Service) error {
	upper := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
	var err error
	set := func(name, value string) {
		if err == nil {
			err = r.setVariable(name, value)
		}
	}
	prefix, host := upper(s.Name), s.Spec.ClusterIP
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	set(prefix+"_SERVICE_HOST", s.Spec.ClusterIP)
	for i, p := range s.Spec.Ports {
		if i == 0 {
			set(prefix+"_SERVICE_PORT", strconv.Itoa(int(p.Port)))
		}
		if p.Name != "" {
			set(prefix+"_SERVICE_PORT_"+upper(p.Name), strconv.Itoa(int(p.Port)))
		}
	}
	for i, p := range s.Spec.Ports {
		protocol, port := strings.ToLower(string(cmp.Or(p.Protocol, v1.ProtocolTCP))), strconv.Itoa(int(p.Port))
		url := protocol + "://" + host + ":" + port
		if i == 0 {
			set(prefix+"_PORT", url)
		}
		link := prefix + "_PORT_" + port + "_" + strings.ToUpper(protocol)
		set(link, url)
		set(link+"_PROTO", protocol)
		set(link+"_PORT", port)
		set(link+"_ADDR", s.Spec.ClusterIP)
	}
	return err
}
