package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// oneContainer is the smallest pod with one container.
func oneContainer(c v1.Container) v1.PodSpec { return v1.PodSpec{Containers: []v1.Container{c}} }

// everything is the configuration of a node with all features.
var everything = podsync.Features{
	Probes: true, GRPCProbes: true, ExecProbes: true, ExecHooks: true, HTTPHooks: true, Deadlines: true,
	Hosts: true, Logs: true, Volumes: inmemory.New(inmemory.Config{}).Problems, VolumeFiles: true,
	Runtime: memory.New(memory.Config{}).Features, Handlers: map[string]string{"x": "y"},
}

// particular are the entries of FIELDS.md that describe a value, or whose field must have a certain value.
var particular = map[string]v1.PodSpec{
	"dnsConfig with dnsPolicy: None":     {DNSPolicy: v1.DNSNone, DNSConfig: &v1.PodDNSConfig{}},
	"dnsConfig without dnsPolicy: None":  {DNSConfig: &v1.PodDNSConfig{}},
	"dnsPolicy":                          {DNSPolicy: v1.DNSDefault},
	"dnsPolicy: ClusterFirstWithHostNet": {DNSPolicy: v1.DNSClusterFirstWithHostNet},
	"volumes[].hostPath":                 {Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/srv"}}}}},
	"volumes[].emptyDir.medium": {
		Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumHugePages}}}},
	},
	"containers[].volumeMounts": {
		Volumes:    make([]v1.Volume, 1),
		Containers: []v1.Container{{VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
	},
	"containers[].env[].valueFrom.fieldRef":                        oneContainer(v1.Container{Env: []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}),
	"containers[].env[].valueFrom.resourceFieldRef":                oneContainer(v1.Container{Env: []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.cpu"}}}}}),
	"hostUsers: false":                                             {HostUsers: new(false)},
	"securityContext.supplementalGroupsPolicy: Strict":             {SecurityContext: &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}},
	"containers[].envFrom":                                         oneContainer(v1.Container{EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{}}}}),
	"containers[].env[].valueFrom":                                 oneContainer(v1.Container{Env: []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}}),
	"containers[].securityContext.procMount: Unmasked":             oneContainer(v1.Container{SecurityContext: &v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)}}),
	"containers[].terminationMessagePolicy: FallbackToLogsOnError": oneContainer(v1.Container{TerminationMessagePolicy: v1.TerminationMessageFallbackToLogsOnError}),
}

// TestFields: the agent treats each field of FIELDS.md as the table says, and no field of the API is missing.
func TestFields(t *testing.T) {
	table := fieldTable(t)
	for entry, word := range table {
		t.Run(entry, func(t *testing.T) {
			spec, ok := particular[entry]
			if !ok {
				spec.Containers = make([]v1.Container, 1)
				fill(t, reflect.ValueOf(&spec).Elem(), strings.Split(entry, "."))
			}
			for i := range spec.Volumes {
				spec.Volumes[i].Name = "v"
			}
			rejected, ignored := podsync.Unsupported(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: spec}, everything)
			switch word {
			case "works", "not used":
				assert.Empty(t, rejected)
				assert.Empty(t, ignored)
			case "ignored":
				assert.Empty(t, rejected)
				assert.Len(t, ignored, 1)
			case "rejected":
				assert.NotEmpty(t, rejected)
				assert.Empty(t, ignored)
			default:
				assert.Fail(t, "the table says", word)
			}
		})
	}
	common := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[v1.EphemeralContainerCommon]()) {
		common[f.Name] = true
		_, same := reflect.TypeFor[v1.Container]().FieldByName(f.Name)
		assert.True(t, same, "only ephemeral containers have %s", f.Name)
	}
	for prefix, all := range map[string]reflect.Type{
		"":                              reflect.TypeFor[v1.PodSpec](),
		"containers[].":                 reflect.TypeFor[v1.Container](),
		"securityContext.":              reflect.TypeFor[v1.PodSecurityContext](),
		"containers[].securityContext.": reflect.TypeFor[v1.SecurityContext](),

		"containers[].livenessProbe.":        reflect.TypeFor[v1.Probe](),
		"containers[].lifecycle.":            reflect.TypeFor[v1.Lifecycle](),
		"containers[].lifecycle.postStart.":  reflect.TypeFor[v1.LifecycleHandler](),
		"ephemeralContainers[].":             reflect.TypeFor[v1.EphemeralContainer](),
		"volumes[].":                         reflect.TypeFor[v1.VolumeSource](),
		"volumes[].projected.sources[].":     reflect.TypeFor[v1.VolumeProjection](),
		"containers[].env[].valueFrom.":      reflect.TypeFor[v1.EnvVarSource](),
		"containers[].restartPolicyRules[].": reflect.TypeFor[v1.ContainerRestartRule](),
	} {
		for _, f := range reflect.VisibleFields(all) {
			if f.Anonymous || common[f.Name] && all == reflect.TypeFor[v1.EphemeralContainer]() {
				continue // An ephemeral container has the fields of the others, by its type.
			}
			field := prefix + jsonName(f)
			assert.True(t, mentions(table, field), "FIELDS.md does not have %s", field)
		}
	}
}

// mentions reports whether the table has the field, a value of it or a part of it.
func mentions(table map[string]string, field string) bool {
	for entry := range table {
		if rest, ok := strings.CutPrefix(entry, field); ok && (rest == "" || strings.ContainsRune(":.[ ", rune(rest[0]))) {
			return true
		}
	}
	return false
}

// fieldTable reads the table: entry to word. An entry that begins with a dot continues the entry before it.
func fieldTable(t *testing.T) map[string]string {
	fields, err := os.ReadFile("../../podworkers/podsync/FIELDS.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(fields), "| field of the pod's spec | here | needs, or why not |\n|---|---|---|\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n\n")
	quoted := regexp.MustCompile("`([^`]+)`(?: (with|without) `([^`]+)`)?")
	table := map[string]string{}
	for row := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(row, " | ")
		require.GreaterOrEqual(t, len(cells), 2, row)
		prefix := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			entry := m[1]
			if strings.HasPrefix(entry, ".") {
				entry = prefix + entry
			} else if i := strings.LastIndexByte(entry, '.'); i > 0 {
				prefix = entry[:i]
			}
			if m[2] != "" {
				entry += " " + m[2] + " " + m[3]
			}
			require.NotContains(t, table, entry, "twice")
			table[entry] = strings.TrimSpace(cells[1])
		}
	}
	require.Greater(t, len(table), 90)
	return table
}

// fill sets a field, given by its JSON name, to a value that is not zero.
func fill(t *testing.T, v reflect.Value, path []string) {
	for ; v.Kind() == reflect.Pointer; v = v.Elem() {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
	}
	if len(path) == 0 {
		fillAny(t, v)
		return
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return jsonName(f) == name })
	require.GreaterOrEqual(t, i, 0, "there is no field %s", name)
	field := v.FieldByIndex(reflect.VisibleFields(v.Type())[i].Index)
	if isList {
		if field.Len() == 0 {
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		}
		field = field.Index(0)
	}
	fill(t, field, path[1:])
}

func fillAny(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct: // Being there is enough.
	default:
		require.Fail(t, "cannot fill", "%s", v.Kind())
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// valuesOfAPI are the words of the third column of FIELDS.md that are values of the API.
var valuesOfAPI = []string{"ClusterFirst", "HugePages", "Memory", "NoExecute", "OnRootMismatch"}

// TestFields_Config: each name in the third column of the table is the path of a field of node.Config, unless it is a
// value of the API or has the name of a package in front.
func TestFields_Config(t *testing.T) {
	text, err := os.ReadFile("../../podworkers/podsync/FIELDS.md")
	require.NoError(t, err)
	table, _, _ := strings.Cut(string(text), "\n## ")
	paths := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Z][A-Za-z]*(?:[.][A-Z][A-Za-z]*)*)`").FindAllStringSubmatch(cells[2], -1) {
			if slices.Contains(valuesOfAPI, name[1]) {
				continue
			}
			paths++
			at := reflect.TypeFor[node.Config]()
			for part := range strings.SplitSeq(name[1], ".") {
				field, found := at.FieldByName(part)
				require.True(t, found, "%s: node.Config has no field %s", cells[0], name[1])
				at = field.Type
			}
		}
	}
	assert.Greater(t, paths, 20, "the names of the table")
}
