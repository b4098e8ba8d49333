package localapi

import (
	"cmp"
	"net/http"
	goruntime "runtime"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the Kubernetes version whose behaviour the node has. The API reports it.
const Version = "v1.36.3"

// groupVersionResources is an API group and version with its resources.
type groupVersionResources struct {
	group, version string
	resources      []metav1.APIResource
}

// groupVersion returns GROUP/VERSION, or only the version for the core group.
func (s *groupVersionResources) groupVersion() string {
	return strings.TrimPrefix(s.group+"/"+s.version, "/")
}

// servedGroups returns all API groups that the API serves, with their resources. The first is the core group.
// The group metrics.k8s.io is included only if Config.Stats is set.
func (b *backend) servedGroups() []groupVersionResources {
	core := groupVersionResources{version: "v1"}
	for _, name := range []string{"pods", "events", "nodes", "namespaces"} {
		core.resources = append(core.resources, b.served[name].APIResource)
		core.resources = append(core.resources, b.served[name].subresources...)
	}
	groups := []groupVersionResources{
		core,
		{group: authenticationv1.GroupName, version: "v1", resources: []metav1.APIResource{reviewResource("SelfSubjectReview")}},
		{group: authorizationv1.GroupName, version: "v1", resources: []metav1.APIResource{reviewResource("SelfSubjectAccessReview"), reviewResource("SelfSubjectRulesReview")}},
	}
	for _, key := range []string{leasesKey, eventsGroupKey} {
		r := b.served[key]
		groups = append(groups, groupVersionResources{group: r.groupVersion.Group, version: r.groupVersion.Version, resources: []metav1.APIResource{r.APIResource}})
	}
	if b.config.Stats != nil {
		groups = append(groups, metricsResources())
	}
	return groups
}

// reviewResource returns the APIResource of a review kind, which clients can only create.
func reviewResource(kind string) metav1.APIResource {
	singular := strings.ToLower(kind)
	return metav1.APIResource{Name: singular + "s", SingularName: singular, Kind: kind, Verbs: metav1.Verbs{"create"}}
}

// serveDiscovery sends the version, the groups or the resources of the API, as the path requires, or a 404 for
// any other path. If the client accepts aggregated discovery, it sends the groups with all their resources.
func (h *router) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	groups := h.servedGroups()
	aggregated := strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList") && strings.Contains(r.Header.Get("Accept"), "v=v2;")
	switch path := r.URL.Path; {
	case path == "/version":
		sendJSON(w, http.StatusOK, versionInfo())
	case path == "/api" && aggregated:
		sendAggregatedDiscovery(w, groups[:1])
	case path == "/apis" && aggregated:
		sendAggregatedDiscovery(w, groups[1:])
	case path == "/api":
		sendJSON(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		})
	case path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for i := range groups[1:] {
			list.Groups = append(list.Groups, newAPIGroup(&groups[1+i]))
		}
		sendJSON(w, http.StatusOK, list)
	default:
		serveDiscoveryOfOneGroup(w, path, groups)
	}
}

// serveDiscoveryOfOneGroup answers a discovery request for one API group. For the path of a group it sends the
// versions of the group. For the path of a version it sends the resources of that version. For any other path
// it sends a 404.
func serveDiscoveryOfOneGroup(w http.ResponseWriter, path string, groups []groupVersionResources) {
	for i := range groups {
		g := &groups[i]
		switch path {
		case "/apis/" + g.group + "/" + g.version, "/api/" + g.groupVersion():
			sendJSON(w, http.StatusOK, metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: g.groupVersion(), APIResources: g.resources,
			})
			return
		case "/apis/" + g.group:
			group := newAPIGroup(g)
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			sendJSON(w, http.StatusOK, group)
			return
		}
	}
	sendError(w, errNoSuchPath())
}

// newAPIGroup returns the discovery object of a group.
func newAPIGroup(g *groupVersionResources) metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: g.groupVersion(), Version: g.version}
	return metav1.APIGroup{Name: g.group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
}

// sendAggregatedDiscovery sends the groups with all their resources in one response.
func sendAggregatedDiscovery(w http.ResponseWriter, groups []groupVersionResources) {
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for i := range groups {
		g := &groups[i]
		v := discoveryv2.APIVersionDiscovery{Version: g.version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range g.resources {
			v.Resources = appendResourceOrSubresourceOfLast(v.Resources, g, r)
		}
		list.Items = append(list.Items, discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.group}, Versions: []discoveryv2.APIVersionDiscovery{v}})
	}
	sendJSONAs(w, http.StatusOK, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", list)
}

// appendResourceOrSubresourceOfLast appends a resource to the list. A subresource, such as pods/log, is added to the
// last resource of the list instead.
func appendResourceOrSubresourceOfLast(all []discoveryv2.APIResourceDiscovery, g *groupVersionResources, r metav1.APIResource) []discoveryv2.APIResourceDiscovery {
	kind := &metav1.GroupVersionKind{Group: cmp.Or(r.Group, g.group), Version: cmp.Or(r.Version, g.version), Kind: r.Kind}
	if _, sub, isSubresource := strings.Cut(r.Name, "/"); isSubresource {
		last := &all[len(all)-1]
		last.Subresources = append(last.Subresources, discoveryv2.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: r.Verbs})
		return all
	}
	scope := discoveryv2.ScopeCluster
	if r.Namespaced {
		scope = discoveryv2.ScopeNamespace
	}
	return append(all, discoveryv2.APIResourceDiscovery{
		Resource: r.Name, ResponseKind: kind, Scope: scope, SingularResource: r.SingularName, Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
	})
}

// versionInfo returns the response to /version, with the Kubernetes version that the node behaves like.
func versionInfo() version.Info {
	return version.Info{
		Major: "1", Minor: strings.Split(Version, ".")[1], GitVersion: Version, GoVersion: goruntime.Version(), Compiler: goruntime.Compiler,
		Platform: goruntime.GOOS + "/" + goruntime.GOARCH,
	}
}
