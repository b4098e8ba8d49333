package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/examples/internal/command"
)

// options holds the values of the flags.
type options struct {
	kubeconfig, prefix string
	nodes              int
	labels             map[string]string
	taints             []v1.Taint
	capacity           v1.ResourceList
	impersonate        bool
	commands           bool
	every              time.Duration
}

const (
	maxNodes = 5000
	// fleetLabel is a label of every node of a fleet; its value is the prefix.
	fleetLabel = "podkeel.dev/fleet"
)

// defineFlags adds the flags to f, and returns the options that the flags set.
func defineFlags(f *pflag.FlagSet) *options {
	o := &options{capacity: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110"),
	}}
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the address of the API server and the credentials")
	f.IntVar(&o.nodes, "nodes", 10, "`number` of nodes")
	f.StringVar(&o.prefix, "node-prefix", "fleet", "nodes are named `prefix`-0, prefix-1 and so on")
	f.BoolVar(&o.impersonate, "impersonate", true, "each node acts as system:node:NAME; with --impersonate=false all act as the user of the kubeconfig")
	f.BoolVar(&o.commands, "commands", false, "read commands from standard input: stop, start or crash, and the name of a node")
	f.DurationVar(&o.every, "every", 5*time.Second, "how often counts are printed, if they have changed")
	f.Func("labels", "`labels` of the nodes, as key=value, separated by commas", command.LabelsFlag(&o.labels))
	f.Func("taints", "`taints` of new nodes, as key=value:effect, separated by commas", command.TaintsFlag(&o.taints))
	f.Func("capacity", "`resources` of each node (default cpu=8,memory=32Gi,pods=110)", o.addToCapacity)
	return o
}

// checkFlags returns an error if a flag is invalid.
func (o *options) checkFlags() error {
	switch {
	case o.kubeconfig == "":
		return errors.New("--kubeconfig is missing")
	case o.nodes < 1 || o.nodes > maxNodes:
		return fmt.Errorf("--nodes %d: expected 1 to %d", o.nodes, maxNodes)
	case o.prefix == "":
		return errors.New("--node-prefix is empty")
	case o.every <= 0:
		return fmt.Errorf("--every %v: expected more than zero", o.every)
	}
	return nil
}

// nodeName returns the name of the node with index i.
func (o *options) nodeName(i int) string { return fmt.Sprintf("%s-%d", o.prefix, i) }

// addToCapacity parses resources such as cpu=8,memory=32Gi and stores them in the capacity of each node. It
// keeps the resources that s does not name. It returns an error for an invalid quantity or a missing name.
func (o *options) addToCapacity(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(one, "=")
		amount, err := resource.ParseQuantity(value)
		if err != nil || key == "" {
			return errors.New("expected resources, as cpu=8,memory=32Gi,pods=110")
		}
		o.capacity[v1.ResourceName(key)] = amount
	}
	return nil
}
