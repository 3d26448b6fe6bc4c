// Stands for a cluster's DNS on the node of the tests: HOST.SERVICE.NAMESPACE.svc.cluster.local is the address of that pod, out of
// the EndpointSlices of the Service. It knows nothing else.
//
//	dns ADDRESS SERVER CA CERTIFICATE KEY
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	typeA     = 1
	notServed = 2
	notFound  = 3
	// Of an answer with authority, to what was asked with a wish for recursion.
	answerFlags = 0x8580
	headerSize  = 12
	// A pod has another address when it is made again.
	seconds = 1
)

var (
	client http.Client
	server string
)

func main() {
	certificate, err := tls.LoadX509KeyPair(os.Args[4], os.Args[5])
	check(err)
	authority, err := os.ReadFile(os.Args[3])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	configuration := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}}
	client = http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: configuration}}
	server = os.Args[2]
	connection, err := net.ListenPacket("udp", os.Args[1])
	check(err)
	for {
		buffer := make([]byte, 1500)
		size, from, err := connection.ReadFrom(buffer)
		check(err)
		go func() {
			if answer := answer(buffer[:size]); answer != nil {
				connection.WriteTo(answer, from)
			}
		}()
	}
}

// answer to a question; nothing to what is none.
func answer(message []byte) []byte {
	if len(message) < headerSize {
		return nil
	}
	var labels []string
	at := headerSize
	for {
		if at >= len(message) {
			return nil
		}
		size := int(message[at])
		at++
		if size == 0 {
			break
		}
		if at+size > len(message) {
			return nil
		}
		labels = append(labels, strings.ToLower(string(message[at:at+size])))
		at += size
	}
	if at+4 > len(message) {
		return nil
	}
	kind := binary.BigEndian.Uint16(message[at:])
	question := message[headerSize : at+4]

	addresses, code := find(labels)
	if kind != typeA {
		// There is none of the other version, and the name is there all the same.
		addresses = nil
	}
	reply := append([]byte{}, message[:2]...)
	for _, field := range []int{answerFlags | code, 1, len(addresses), 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, uint16(field))
	}
	reply = append(reply, question...)
	for _, address := range addresses {
		// The name is the one that was asked for; the class is the internet's.
		for _, field := range []uint16{0xc000 | headerSize, typeA, 1} {
			reply = binary.BigEndian.AppendUint16(reply, field)
		}
		reply = binary.BigEndian.AppendUint32(reply, seconds)
		reply = binary.BigEndian.AppendUint16(reply, net.IPv4len)
		reply = append(reply, address...)
	}
	return reply
}

// find gives the addresses of a pod, or of all pods of a Service.
func find(labels []string) ([]net.IP, int) {
	host := ""
	if len(labels) == 6 {
		host, labels = labels[0], labels[1:]
	}
	if len(labels) != 5 || strings.Join(labels[2:], ".") != "svc.cluster.local" {
		return nil, notFound
	}
	place := fmt.Sprintf("%s/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices?labelSelector=%s", server,
		url.PathEscape(labels[1]), url.QueryEscape("kubernetes.io/service-name="+labels[0]))
	response, err := client.Get(place)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil, notServed
	}
	defer response.Body.Close()
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Hostname   string
				Conditions struct{ Ready *bool }
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&slices); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil, notServed
	}
	var found []net.IP
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready
			if host != "" && endpoint.Hostname != host || ready != nil && !*ready {
				continue
			}
			for _, address := range endpoint.Addresses {
				if ip := net.ParseIP(address).To4(); ip != nil {
					found = append(found, ip)
				}
			}
		}
	}
	if found == nil {
		return nil, notFound
	}
	return found, 0
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
