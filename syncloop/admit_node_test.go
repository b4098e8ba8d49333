package syncloop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop"
)

// parseResources parses a list like "cpu=1 memory=2Gi".
func parseResources(text string) v1.ResourceList {
	l := v1.ResourceList{}
	for _, word := range strings.Fields(text) {
		name, quantity, _ := strings.Cut(word, "=")
		l[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return l
}

func podRequesting(name, requests string) *v1.Pod {
	p := podOfSource(name, "api")
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: parseResources(requests)}}}
	return p
}

func TestAdmitResources_AD5_AD10(t *testing.T) {
	for name, test := range map[string]struct {
		allocatable, used, want, deny string
	}{
		"fits exactly":               {"cpu=2", "cpu=1500m", "cpu=500m", ""},
		"a thousandth too much":      {"cpu=2", "cpu=1500m", "cpu=501m", "OutOfcpu: the node has not enough cpu: requested 501m, used 1500m, capacity 2"},
		"memory":                     {"memory=1Gi", "memory=1Gi", "memory=1", "OutOfmemory: the node has not enough memory: requested 1, used 1Gi, capacity 1Gi"},
		"ephemeral storage":          {"ephemeral-storage=1Gi", "", "ephemeral-storage=2Gi", "OutOfephemeral-storage: the node has not enough ephemeral-storage: requested 2Gi, used 0, capacity 1Gi"},
		"huge pages":                 {"hugepages-2Mi=2Mi", "", "hugepages-2Mi=4Mi", "OutOfhugepages-2Mi: the node has not enough hugepages-2Mi: requested 4Mi, used 0, capacity 2Mi"},
		"an extended resource":       {"example.com/gpu=1", "example.com/gpu=1", "example.com/gpu=1", "OutOfexample.com/gpu: the node has not enough example.com/gpu: requested 1, used 1, capacity 1"},
		"one unknown to the node":    {"cpu=1", "example.com/gpu=9", "example.com/gpu=9", ""},
		"places":                     {"pods=1", "", "", "OutOfpods: the node has not enough pods: requested 1, used 1, capacity 1"},
		"nothing declared":           {"", "cpu=1", "cpu=100", ""},
		"nothing wanted, all in use": {"cpu=1", "cpu=2", "cpu=0", ""},
		"the first in the order":     {"memory=1 cpu=1 pods=9 example.com/a=1", "", "example.com/a=2 memory=2 cpu=2", "OutOfcpu: the node has not enough cpu: requested 2, used 0, capacity 1"},
		"extended ones by name":      {"example.com/b=1 example.com/a=1", "", "example.com/a=2 example.com/b=2", "OutOfexample.com/a: the node has not enough example.com/a: requested 2, used 0, capacity 1"},
	} {
		t.Run(name, func(t *testing.T) {
			attrs := syncloop.PodAdmitAttributes{Pod: podRequesting("new", test.want), OtherPods: []*v1.Pod{podRequesting("old", test.used)}}
			handler := syncloop.AdmitResources(parseResources(test.allocatable))
			for range 2 { // It keeps nothing from one question to the next.
				assert.Equal(t, test.deny, describeResult(handler.Admit(attrs)))
			}
		})
	}
}

func TestAdmitOS_AD5(t *testing.T) {
	for name, test := range map[string]struct{ label, field, deny string }{
		"says nothing": {"", "", ""},
		"the node's":   {"linux", "linux", ""},
		"by label":     {"windows", "linux", `PodOSSelectorNodeLabelDoesNotMatch: the pod's label kubernetes.io/os is "windows", and the node's operating system is linux`},
		"by field":     {"", "windows", `PodOSNotSupported: the pod's spec.os is "windows", and the node's operating system is linux`},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOfSource("web", "api")
			if test.label != "" {
				pod.Labels = map[string]string{v1.LabelOSStable: test.label}
			}
			if test.field != "" {
				pod.Spec.OS = &v1.PodOS{Name: v1.OSName(test.field)}
			}
			assert.Equal(t, test.deny, describeResult(syncloop.AdmitOS("linux").Admit(syncloop.PodAdmitAttributes{Pod: pod})))
		})
	}
}

func TestAdmitNodeName_RefusesThePodOfAnotherNode(t *testing.T) {
	for assigned, deny := range map[string]string{
		"":   "",
		"n1": "",
		"n2": `NodeName: spec.nodeName is "n2", and this node is "n1"`,
	} {
		pod := podOfSource("web", "api")
		pod.Spec.NodeName = assigned
		assert.Equal(t, deny, describeResult(syncloop.AdmitNodeName("n1").Admit(syncloop.PodAdmitAttributes{Pod: pod})), "%q", assigned)
	}
}

func TestAdmitGates(t *testing.T) {
	pod := podOfSource("web", "api")
	assert.Empty(t, describeResult(syncloop.AdmitGates().Admit(syncloop.PodAdmitAttributes{Pod: pod})))
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}, {Name: "audit"}}
	assert.Equal(t, "SchedulingGated: the pod must not be started before its scheduling gates are removed: quota, audit",
		describeResult(syncloop.AdmitGates().Admit(syncloop.PodAdmitAttributes{Pod: pod})))
}

// parseTerms parses "k In a,b; j Exists | @metadata.name In n". A | separates terms, a ; separates their expressions,
// and @ marks a field.
func parseTerms(text string) (all []v1.NodeSelectorTerm) {
	for term := range strings.SplitSeq(text, "|") {
		var t v1.NodeSelectorTerm
		for expression := range strings.SplitSeq(term, ";") {
			words := strings.Fields(expression)
			if len(words) < 2 {
				continue
			}
			r := v1.NodeSelectorRequirement{Key: words[0], Operator: v1.NodeSelectorOperator(words[1])}
			if len(words) > 2 {
				r.Values = strings.Split(words[2], ",")
			}
			if field, ok := strings.CutPrefix(r.Key, "@"); ok {
				r.Key = field
				t.MatchFields = append(t.MatchFields, r)
				continue
			}
			t.MatchExpressions = append(t.MatchExpressions, r)
		}
		all = append(all, t)
	}
	return all
}

func TestAdmitNodeAffinity_AD5(t *testing.T) {
	handler := syncloop.AdmitNodeAffinity("n1", map[string]string{"zone": "a", "cores": "8", "odd": "x"})
	const no = "NodeAffinity: no term of the required node affinity matches this node"
	const unclear = "NodeAffinity: cannot parse the required node affinity: term 0: "
	for text, want := range map[string]string{
		"zone In a,b":                        "",
		"zone In b,c":                        no,
		"none In a":                          no,
		"zone NotIn b":                       "",
		"zone NotIn a,b":                     no,
		"none NotIn a":                       "",
		"zone Exists":                        "",
		"none Exists":                        no,
		"none DoesNotExist":                  "",
		"zone DoesNotExist":                  no,
		"cores Gt 7":                         "",
		"cores Gt 8":                         no,
		"cores Lt 9":                         "",
		"cores Lt 8":                         no,
		"odd Gt 1":                           no,
		"none Gt 1":                          no,
		"@metadata.name In n1":               "",
		"@metadata.name In n2":               no,
		"@metadata.name NotIn n2":            "",
		"@metadata.name NotIn n1":            no,
		"zone In a; cores Lt 8":              no,
		"zone In a; @metadata.name In n2":    no,
		"zone In b | cores Gt 7":             "",
		"":                                   no,
		"zone In | zone In a":                "",
		"zone In b | zone Near a":            `NodeAffinity: cannot parse the required node affinity: term 1: the operator "Near" is not known`,
		"zone Near a":                        unclear + `the operator "Near" is not known`,
		"zone In":                            unclear + `key "zone": values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`,
		"cores Gt many":                      unclear + `key "cores": values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer`,
		"@spec.x In n1":                      unclear + `the field "spec.x" is not known`,
		"@metadata.name In n1,n2":            unclear + `the field "metadata.name" has 2 values, and takes one`,
		"@metadata.name Gt 1":                unclear + `the operator "Gt" is not known of fields`,
		"zone Near a; @spec.x In n1":         unclear + `the operator "Near" is not known; the field "spec.x" is not known`,
		"zone In a; zone Near a | none In x": unclear + `the operator "Near" is not known`,
	} {
		t.Run(text, func(t *testing.T) {
			pod := podOfSource("web", "api")
			pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: parseTerms(text)},
			}}
			assert.Equal(t, want, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})))
		})
	}
}

func TestAdmitNodeAffinity_Selector(t *testing.T) {
	handler := syncloop.AdmitNodeAffinity("n1", map[string]string{"zone": "a", "empty": ""})
	for want, selector := range map[string]map[string]string{
		"": {"zone": "a", "empty": ""},
		"NodeAffinity: spec.nodeSelector wants zone=b, and the node has zone=a":       {"zone": "b"},
		"NodeAffinity: spec.nodeSelector wants none=, and the node has no such label": {"none": "", "zone": "b"},
	} {
		pod := podOfSource("web", "api")
		pod.Spec.NodeSelector = selector
		assert.Equal(t, want, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})))
	}
	empty := podOfSource("web", "api")
	empty.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{},
	}}
	assert.Equal(t, "NodeAffinity: no term of the required node affinity matches this node",
		describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: empty})), "no term means no node")
}

func TestAdmitTaints_AD5(t *testing.T) {
	taint := v1.Taint{Key: "disk", Value: "7", Effect: v1.TaintEffectNoExecute}
	other := v1.Taint{Key: "net", Effect: v1.TaintEffectNoSchedule}
	handler := syncloop.AdmitTaints([]v1.Taint{other, taint})
	const no = "TaintToleration: the pod does not tolerate the node's taint disk=7:NoExecute"
	for name, test := range map[string]struct {
		toleration v1.Toleration
		want       string
	}{
		"equal":            {v1.Toleration{Key: "disk", Operator: "Equal", Value: "7", Effect: "NoExecute"}, ""},
		"equal is implied": {v1.Toleration{Key: "disk", Value: "7"}, ""},
		"another value":    {v1.Toleration{Key: "disk", Value: "8"}, no},
		"another key":      {v1.Toleration{Key: "net", Value: "7"}, no},
		"another effect":   {v1.Toleration{Key: "disk", Value: "7", Effect: "NoSchedule"}, no},
		"exists":           {v1.Toleration{Key: "disk", Operator: "Exists"}, ""},
		"everything":       {v1.Toleration{Operator: "Exists"}, ""},
		"nothing said":     {v1.Toleration{Value: "7"}, no},
		"less":             {v1.Toleration{Key: "disk", Operator: "Lt", Value: "8"}, ""},
		"not less":         {v1.Toleration{Key: "disk", Operator: "Lt", Value: "7"}, no},
		"greater":          {v1.Toleration{Key: "disk", Operator: "Gt", Value: "6"}, ""},
		"not greater":      {v1.Toleration{Key: "disk", Operator: "Gt", Value: "7"}, no},
		"no number":        {v1.Toleration{Key: "disk", Operator: "Gt", Value: "-"}, no},
		"unknown operator": {v1.Toleration{Key: "disk", Operator: "Like", Value: "7"}, no},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOfSource("web", "api")
			pod.Spec.Tolerations = []v1.Toleration{{Key: "other"}, test.toleration}
			assert.Equal(t, test.want, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})))
		})
	}
	assert.Equal(t, no, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: podOfSource("web", "api")})))
	assert.Empty(t, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: podOfSource("web", "file")})), "static pods are exempt")
}
