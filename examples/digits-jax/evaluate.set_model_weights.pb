
«
¨
ÉÆ
_
_ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"

c
modelZX
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
"ã
set_model_weights_argÉ
ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"
Jê
å
ÉÆ
_
_ZX

hidden"@ 

hidden_bias" 

output" 


output_bias"

c
modelZX

hidden"@ 

hidden_bias" 

output" 


output_bias"
2
set_model_weights_arg