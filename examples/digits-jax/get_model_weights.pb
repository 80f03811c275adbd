
»
¸
ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"
ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"
"
get_model_weights_argu
ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"
2
get_model_weights_arg