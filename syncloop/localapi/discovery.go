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

// Version is the one of Kubernetes whose behaviour a node has, as the API reports it.
const Version = "v1.36.3"

// served is one group and version, with its resources.
type served struct {
	group, version string
	resources      []metav1.APIResource
}

func (s *served) groupVersion() string { return strings.TrimPrefix(s.group+"/"+s.version, "/") }

// groups are all that are served. The first is the group "".
func (b *backend) groups() []served {
	core := served{version: "v1"}
	for _, name := range []string{"pods", "events", "nodes", "namespaces"} {
		core.resources = append(core.resources, b.served[name].APIResource)
		core.resources = append(core.resources, b.served[name].subresources...)
	}
	groups := []served{
		core,
		{group: authenticationv1.GroupName, version: "v1", resources: []metav1.APIResource{review("SelfSubjectReview")}},
		{group: authorizationv1.GroupName, version: "v1", resources: []metav1.APIResource{review("SelfSubjectAccessReview"), review("SelfSubjectRulesReview")}},
	}
	for _, key := range []string{leasesKey, newEventsKey} {
		r := b.served[key]
		groups = append(groups, served{group: r.of.Group, version: r.of.Version, resources: []metav1.APIResource{r.APIResource}})
	}
	if b.config.Stats != nil {
		groups = append(groups, metricsResources())
	}
	return groups
}

// review is the resource of a kind that is made to be answered, and is not kept.
func review(kind string) metav1.APIResource {
	singular := strings.ToLower(kind)
	return metav1.APIResource{Name: singular + "s", SingularName: singular, Kind: kind, Verbs: metav1.Verbs{"create"}}
}

// discover answers what there is.
func (h *router) discover(w http.ResponseWriter, r *http.Request) {
	groups := h.groups()
	aggregated := strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList") && strings.Contains(r.Header.Get("Accept"), "v=v2;")
	switch path := r.URL.Path; {
	case path == "/version":
		sendJSON(w, http.StatusOK, versionInfo())
	case path == "/api" && aggregated:
		sendAggregated(w, groups[:1])
	case path == "/apis" && aggregated:
		sendAggregated(w, groups[1:])
	case path == "/api":
		sendJSON(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		})
	case path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for i := range groups[1:] {
			list.Groups = append(list.Groups, apiGroup(&groups[1+i]))
		}
		sendJSON(w, http.StatusOK, list)
	default:
		discoverOne(w, path, groups)
	}
}

// discoverOne answers what there is of a group, or of a version of one.
func discoverOne(w http.ResponseWriter, path string, groups []served) {
	for i := range groups {
		g := &groups[i]
		switch path {
		case "/apis/" + g.group + "/" + g.version, "/api/" + g.groupVersion():
			sendJSON(w, http.StatusOK, metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: g.groupVersion(), APIResources: g.resources,
			})
			return
		case "/apis/" + g.group:
			group := apiGroup(g)
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			sendJSON(w, http.StatusOK, group)
			return
		}
	}
	sendError(w, errNoSuchPath())
}

func apiGroup(g *served) metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: g.groupVersion(), Version: g.version}
	return metav1.APIGroup{Name: g.group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
}

// sendAggregated answers with groups and all of their resources at once.
func sendAggregated(w http.ResponseWriter, groups []served) {
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for i := range groups {
		g := &groups[i]
		v := discoveryv2.APIVersionDiscovery{Version: g.version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range g.resources {
			v.Resources = addAggregated(v.Resources, g, r)
		}
		list.Items = append(list.Items, discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.group}, Versions: []discoveryv2.APIVersionDiscovery{v}})
	}
	sendAs(w, http.StatusOK, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", list)
}

// addAggregated adds a resource, or a subresource to the resource before it.
func addAggregated(all []discoveryv2.APIResourceDiscovery, g *served, r metav1.APIResource) []discoveryv2.APIResourceDiscovery {
	kind := &metav1.GroupVersionKind{Group: cmp.Or(r.Group, g.group), Version: cmp.Or(r.Version, g.version), Kind: r.Kind}
	if _, sub, is := strings.Cut(r.Name, "/"); is {
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

// versionInfo is that of the Kubernetes whose behaviour the node has.
func versionInfo() version.Info {
	return version.Info{
		Major: "1", Minor: strings.Split(Version, ".")[1], GitVersion: Version, GoVersion: goruntime.Version(), Compiler: goruntime.Compiler,
		Platform: goruntime.GOOS + "/" + goruntime.GOARCH,
	}
}
